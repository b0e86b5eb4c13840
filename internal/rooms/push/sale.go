package push

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"
	"golang.org/x/sync/errgroup"
)

// SaleEvery is how often the sale is looked at: state and stock are pushed at most so often.
const SaleEvery = time.Second

const (
	ordersLooked = 2000 // connected users that are looked at in a second while orders are placed
	ordersAtOnce = 64
	orderNews    = time.Minute // an older order is no news to a user who has just connected
)

// saleView is the sale as it was pushed last. One goroutine uses it.
type saleView struct {
	state  string
	left   []int64
	orders int64
	unseen []uint32 // connected users who are not looked at yet since the last order
	buyers map[uint32]struct{}
}

// PublishSale takes the sale as it is now. What has changed goes to the channel of the sale, and an order to
// the user's devices. The order path does not know of it: while orders are placed, the connected users
// without an order are looked up, 2,000 a second. One goroutine may call it.
func (s *Server) PublishSale(state string, left []int64, orders int64) {
	v := &s.sale
	if state != v.state {
		s.sendSale(`{"event":"sale","state":` + strconv.Quote(state) + `}`)
		v.state = state
	}
	if !slices.Equal(left, v.left) {
		s.publishStock(left)
		v.left = slices.Clone(left)
	}
	if orders != v.orders {
		v.orders = orders
		v.unseen = s.audience.connected()
	}
	s.publishOrders()
}

// publishStock sends the foods with another stock: all of them to the channel of the sale.
func (s *Server) publishStock(left []int64) {
	var b strings.Builder
	b.WriteString(`{"event":"stock","stock":{`)
	changes := 0
	for i, pieces := range left {
		if i < len(s.sale.left) && s.sale.left[i] == pieces {
			continue
		}
		if changes++; changes > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strconv.Itoa(i+1) + `":` + strconv.FormatInt(pieces, 10))
		if name := foodPrefix + strconv.Itoa(i+1); s.node.Hub().NumSubscribers(name) > 0 {
			text := `{"event":"stock","stock":{"` + strconv.Itoa(i+1) + `":` + strconv.FormatInt(pieces, 10) + `}}`
			s.send(name, &centrifuge.Publication{Data: []byte(text)}, "")
		}
	}
	b.WriteString(`}}`)
	s.sendSale(b.String())
}

func (s *Server) sendSale(text string) {
	s.send(saleChannel, &centrifuge.Publication{Data: []byte(text)}, "")
}

// publishOrders tells connected users of the orders that they have placed.
func (s *Server) publishOrders() {
	v := &s.sale
	n := min(ordersLooked, len(v.unseen))
	look := v.unseen[:n]
	v.unseen = v.unseen[n:]
	if s.cfg.Ordered == nil || n == 0 {
		return
	}
	group := errgroup.Group{}
	group.SetLimit(ordersAtOnce)
	placed := make([]time.Time, n)
	for i, user := range look {
		if _, known := v.buyers[user]; known {
			continue
		}
		group.Go(func() (err error) {
			placed[i], err = s.cfg.Ordered(user)
			return err
		})
	}
	if group.Wait() != nil {
		v.orders = -1 // look again
		return
	}
	for i, user := range look {
		if placed[i].IsZero() {
			continue
		}
		v.buyers[user] = struct{}{}
		if s.cfg.Now().Sub(placed[i]) < orderNews {
			text := `{"event":"order","placed_at":"` + placed[i].UTC().Format(created) + `"}`
			s.send(userChannel(user), &centrifuge.Publication{Data: []byte(text)}, "")
		}
	}
}
