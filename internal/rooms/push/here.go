package push

import (
	"maps"
	"strings"

	"github.com/centrifugal/centrifuge"
)

// isRoom reports whether a thread is the room of a sale: it shows a count, never a list.
func isRoom(thread string) bool { return strings.HasPrefix(thread, "sale-") }

// presence returns who subscribes to a thread, on all servers. Those of a room, or of a server with too
// many, are only counted.
func (s *Server) presence(user uint32, name string) (found centrifuge.PresenceResult, err error) {
	thread, err := s.threadOf(user, name)
	if err == nil && isRoom(thread) {
		err = centrifuge.ErrorNotAvailable
	}
	if err != nil {
		return found, err
	}
	others, _, err := s.registry.elsewhere(thread)
	if err != nil {
		return found, protocolError(err)
	}
	own, err := s.node.Presence(name)
	if err != nil {
		return found, err
	}
	maps.Copy(others, own.Presence)
	return centrifuge.PresenceResult{Presence: others}, nil
}

// presenceStats counts who subscribes to a thread, on all servers. A user with devices at two servers counts
// for both.
func (s *Server) presenceStats(user uint32, name string) (found centrifuge.PresenceStatsResult, err error) {
	thread, err := s.threadOf(user, name)
	if err != nil {
		return found, err
	}
	_, others, err := s.registry.elsewhere(thread)
	if err != nil {
		return found, protocolError(err)
	}
	if found, err = s.node.PresenceStats(name); err != nil {
		return found, err
	}
	found.NumClients += others.NumClients
	found.NumUsers += others.NumUsers
	return found, nil
}
