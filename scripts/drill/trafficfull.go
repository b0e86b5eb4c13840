package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// The statistics of a drill have room for the server's own keys, and not for the drill's beside them.
const (
	trafficFlags = "-traffic-keys 1000"
	drillKeys    = 1000
	drillPrefix  = "drill:"
)

// trafficFull fills the statistics with keys, and deletes them once the alert has fired.
func trafficFull(ctx context.Context, s *stack, _ *rand.Rand) error {
	root := &client.Client{Address: s.servers[0].address, Timeout: answerPatient}
	defer root.HangUp()
	if err := root.Login("root", rootPassword); err != nil {
		return err
	}
	hits := make([]string, drillKeys)
	for i := range hits {
		hits[i] = fmt.Sprintf(`{"key":"%s%d"}`, drillPrefix, i)
	}
	err := root.Call("POST", "/traffic/hit", `{"hits":[`+strings.Join(hits, ",")+`]}`, nil)
	if err != nil {
		return err
	}
	var last error
	err = testkit.Await(ctx, "flush of more keys than there is room for", startMax, func() bool {
		list, err := readKeys(root, 0)
		last = err
		return err == nil && list.Count >= list.Max
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	s.awaitAlert(ctx)
	deleted := 0
	for after := int64(0); ; {
		list, err := readKeys(root, after)
		if err != nil {
			return err
		}
		for _, one := range list.Keys {
			if !strings.HasPrefix(one.Key, drillPrefix) {
				continue
			}
			if err := root.Call("DELETE", "/traffic?key="+url.QueryEscape(one.Key), "", nil); err != nil {
				return err
			}
			deleted++
		}
		if after = list.Next; after == 0 {
			break
		}
	}
	s.note("the statistics were full, and root deleted %d keys", deleted)
	return nil
}

// keyList is a page of GET /traffic/keys.
type keyList struct {
	Count, Max int
	Next       int64
	Keys       []struct{ Key string }
}

func readKeys(root *client.Client, after int64) (list keyList, err error) {
	err = root.Call("GET", fmt.Sprintf("/traffic/keys?n=1000&after=%d", after), "", &list)
	return list, err
}
