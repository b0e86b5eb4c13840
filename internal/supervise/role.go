package supervise

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Role is one kind of worker.
type Role struct {
	Name       string // unique
	Count      int    // processes, at least 1
	Address    string // host:port that they share, port 0 for any free port; "" for no socket
	Setting    string // that names the Address, for errors
	Processors int    // GOMAXPROCS of each; 0 leaves the choice to Go
}

// port is the address that a role's workers share.
type port struct {
	address string
	open    atomic.Int64 // open sockets of all slots
}

// claimPort claims the address of a role. It returns nil for a role without one.
func claimPort(r Role) (*port, error) {
	if r.Address == "" {
		return nil, nil
	}
	address, err := claim(r)
	if err != nil {
		return nil, err
	}
	return &port{address: address}, nil
}

func checkRoles(roles []Role) error {
	if len(roles) == 0 {
		return errors.New("cannot supervise without a role")
	}
	seen := map[string]bool{}
	for _, role := range roles {
		if role.Name == "" || seen[role.Name] {
			return fmt.Errorf("cannot supervise role %q: each role needs a name of its own", role.Name)
		}
		if role.Count < 1 {
			return fmt.Errorf("cannot supervise %d %s workers, the least is 1", role.Count, role.Name)
		}
		seen[role.Name] = true
	}
	return nil
}
