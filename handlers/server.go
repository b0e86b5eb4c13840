package handlers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/background"
	"flashsale/internal/catalog"
	"flashsale/internal/logpace"
	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/demand"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/rooms/rules"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/goroutines"
	"flashsale/internal/serve/listener"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/tokens"
)

// Limits of a request. The limits of time and number are in internal/serve/listener.
const (
	headBytesMax = 8 << 10 // request line and headers
	urlBytesMax  = 1 << 10 // no call needs more than some hundred
	headersMax   = 100     // browsers send about twenty
	bodyBytesMax = 1 << 10 // name and password; a few calls take more, see the table

	longestBodyMax = 32 << 10 // of calls other than VK's: 4096 letters, most as six bytes; 200 names
	usualBodyBytes = 8 << 10  // 500 documents; longer bodies take a larger buffer

	// An event of VK with 40 messages: one and those that it quotes. A text has at most 4096 letters, and VK
	// writes a letter that is not Latin as six bytes: 25 KB. VK names no limit; it crops an event that is too
	// large for its Callback API to one quoted message and one attachment of each ("is_cropped").
	vkBodyBytesMax = 1 << 20
)

// drainPoll is the time between two checks whether a drain has ended.
const drainPoll = 5 * time.Millisecond

// Config is what the handlers need.
type Config struct {
	Catalog  *catalog.Catalog
	Keys     *tokens.Keys
	Sale     *redisx.Sale
	TokenTTL time.Duration // how long an access token is valid

	AdminFrom []netip.Prefix // from where operators and root may run the sale; none: from everywhere
	RootOff   bool           // root is a buyer and nothing else

	ServiceToken string // of other programs that use the rooms; "" lets none in

	// PastSale opens a sale that has ended; turnover.ErrNoPastSale without such a sale, or without its prices.
	// nil: only this sale is known.
	PastSale func(sale string) (*PastSale, error)
	// PastSales are the ids of the sales before this one, the last one first; nil: they are not known.
	PastSales func() ([]string, error)

	Registered      int  // users who may register
	CatalogueBuyers bool // only users of the catalogue may order

	CartAddsMinute int // changes to carts of a user in a minute; 0 is no limit

	// Loop serves the hot calls; without it fasthttp's server does. Sale must have the same Loop. With TLS it
	// must be nil: it would not be used, and the changes of Sale would wait for it.
	Loop *eventloop.Loop

	TLS                *tls.Config    // nil for plain HTTP
	ConnsMax           int            // connections at once; 0 is as many as there are file descriptors
	ConnsPerAddressMax int            // of one client address; 0: see listener.ShareOf
	TrustedProxies     []netip.Prefix // their X-Forwarded-For and X-Request-Id are believed

	AccessLog  *accesslog.Log // nil for none
	RequestIDs bool           // every reply carries an X-Request-Id

	Figures *figures.Worker // where requests are counted; nil: the counts are not published
}

// Server answers the sale's HTTP calls.
type Server struct {
	cfg        Config
	foods      atomic.Pointer[foodLists] // ready-made bodies of GET /foods; nil until the stock is known
	goods      goodsTexts                // the parts of a body that do not change
	sale       atomic.Pointer[[]byte]    // the same of GET /sale
	last       redisx.Snapshot           // source of the list of foods; for Publish only
	draining   atomic.Bool
	drained    chan struct{}
	figures    *figures.Worker
	limiter    *listener.Limiter
	table      []Route
	router     *router
	sizes      framing.Limits // of one request
	goroutines *goroutines.Server
	loop       *eventloop.Server // nil where goroutines serves all calls
	adds       *limits.Adds

	// Rooms that the calls of the sale use; nil where they have not joined.
	limits    *limits.Limiter
	accounts  *accounts.Accounts
	sessions  *sessions.Sessions
	operators *operators.Operators
	hashing   turns
	traffic   *traffic.Traffic
	blocklist *blocklist.Blocklist
	demand    *demand.Demand
	rules     *rules.Rules
	held      *held.Orders
	// endPayment ends a payment of an order that its buyer has given back; nil: there are none.
	endPayment func(payment string)

	hitsByCall *traffic.Counters // by route and class of status, see count
	hitsByFood *traffic.Counters // pieces that were added to carts

	readiness readiness
	lists     readers // of the lists that are being sent
	sortedMax int     // orders in an export by item
	names     func() *catalog.Names

	refusedLogins, refusedOperators, refusedTokens, refusedServices, brokenLists, limited logpace.Pace
}

// New makes a Server without rooms, see Add. It is not ready until Publish is called.
func New(cfg Config) *Server {
	count := cfg.Figures
	if count == nil {
		count = figures.Private()
	}
	s := &Server{cfg: cfg, figures: count, sortedMax: sortedMax, drained: make(chan struct{}),
		lists: readers{allMax: listsMax, ownMax: listsOwn},
		limiter: listener.NewLimiter(listener.Config{
			TLS: cfg.TLS, ConnsMax: cfg.ConnsMax, ConnsPerAddressMax: cfg.ConnsPerAddressMax,
			TrustedProxies: cfg.TrustedProxies, Refusal: tooManyConns, Figures: count,
		})}
	s.names = sync.OnceValue(cfg.Catalog.Names) // most workers never need them
	s.goods = newGoodsTexts(cfg.Catalog)
	s.adds = limits.NewAdds(redisx.Users{Catalogue: cfg.Catalog.Users(), Registered: cfg.Registered},
		cfg.CartAddsMinute)
	s.table = s.saleRoutes()
	s.Add()
	s.sizes = framing.Limits{Head: headBytesMax, URL: urlBytesMax, Headers: headersMax, Body: bodyBytesMax,
		LongestBody: vkBodyBytesMax,
		BodyOf:      func(method, target []byte) int { return s.router.bodyOf(method, target) },
	}
	if cfg.TLS != nil { // the loop would answer in plain text
		s.newEngines(nil)
	} else {
		s.newEngines(cfg.Loop)
	}
	return s
}

// tooManyConns is the reply to a connection over a limit of number.
var tooManyConns = fmt.Appendf(nil,
	"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s", len(errUnavailable.body),
	errUnavailable.body)

// Serve answers the requests that come in by the listener, until Drain or until the listener fails.
func (s *Server) Serve(l net.Listener) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go s.limiter.Run(ctx)
	err := listener.BoundSends(l)
	if err != nil {
		return fmt.Errorf("cannot set up the listening socket: %w", err)
	}
	if s.loop == nil {
		err = s.goroutines.Serve(l)
	} else if err = s.loop.Serve(l); err == nil {
		<-s.drained
	}
	if err != nil && !(s.draining.Load() && errors.Is(err, net.ErrClosed)) {
		return fmt.Errorf("cannot accept connections: %w", err)
	}
	return nil
}

// Drain ends the service: it closes the listener and answers later requests on open connections with
// Connection: close. When the context idle ends, it closes idle connections; requests under way are still
// answered. Rooms must have ended their connections before. An error means that ctx ended before all
// connections did.
func (s *Server) Drain(ctx, idle context.Context, l net.Listener) error {
	s.draining.Store(true)
	if s.loop != nil {
		s.loop.StopAccepting()
	} else {
		l.Close()
	}
	s.awaitNoConns(idle)
	s.limiter.CloseIdle()
	if s.loop != nil {
		s.loop.CloseIdle()
		s.awaitNoConns(ctx)
		close(s.drained)
	}
	err := s.goroutines.Shutdown(ctx)
	if s.limiter.Count() > 0 && err == nil {
		err = ctx.Err()
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot drain: %d connections are still open: %w", s.limiter.Count(), err)
	}
	return nil
}

// awaitNoConns waits until all connections have ended, or ctx has.
func (s *Server) awaitNoConns(ctx context.Context) {
	for s.limiter.Count() > 0 && background.Pause(ctx, drainPoll) {
	}
}

// handle is the entry of requests that fasthttp's server has read.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	a := answers.Get().(*answer)
	a.server = s
	a.begin()
	defer a.endOnGoroutine(ctx)
	defer s.endRequest(ctx)
	a.serveOnGoroutine(ctx)
}

// requests are buffers for one request and for the bytes behind it.
var requests = framing.NewBuffers(headBytesMax+usualBodyBytes, headBytesMax+longestBodyMax)

// newEngines makes the two servers: goroutines for all calls that may wait and, where there is a loop,
// eventloop for the hot calls. The loop lends the requests that it does not answer to the other server.
func (s *Server) newEngines(loop *eventloop.Loop) {
	s.goroutines = goroutines.NewServer(goroutines.Config{Limits: s.sizes, Limiter: s.limiter,
		Buffers: requests, Handler: s.handle, Malformed: s.malformed, Refuse: s.refuse})
	if loop == nil {
		return
	}
	sizes := s.sizes
	sizes.LongestBody = longestBodyMax
	s.loop = eventloop.NewServer(loop, eventloop.Config{
		Limits: sizes, Limiter: s.limiter, Buffers: requests, Handler: s.serveOnLoop, Refuse: s.refuse,
		Malformed: s.malformed, TooLarge: s.goroutines.Takes,
		Away: func(socket net.Conn, slot listener.Slot, unread []byte) {
			s.goroutines.Lend(s.loop, socket, slot, unread)
		},
	})
}
