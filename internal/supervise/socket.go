package supervise

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/libp2p/go-reuseport"
	"golang.org/x/sys/unix"
)

// socket is the listening socket of one slot. All sockets of a role share one port, and the kernel spreads
// new connections over them. The supervisor holds the socket but accepts nothing. A queue of connections
// lives while any process has its socket open; closing a SO_REUSEPORT socket for the last time resets the
// connections that wait there. So connections survive the crash or replacement of a worker, and the next
// worker answers them.
//
// It is a bare descriptor: a net.Listener or an os.File would stay registered with this process's poller and
// wake the supervisor at every connection.
type socket int

const noSocket socket = -1

// claim resolves the address of a role to host:port with the final port, and makes sure that no other
// program listens there. The host 0.0.0.0 means every IPv4 address of the machine; :: or no host means every
// address.
// Sockets with SO_REUSEPORT would silently share the port with another server of the same user, so claim
// first tries a socket without it.
func claim(r Role) (string, error) {
	address := r.Address
	listener, err := net.Listen(network(address), address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", fmt.Errorf("cannot listen on %s: another program uses that port; "+
			"stop it or choose another with %s", address, r.Setting)
	}
	if err != nil {
		return "", fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func listen(address string) (socket, error) {
	listener, err := reuseport.Listen(network(address), address)
	if err != nil {
		return noSocket, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	defer listener.Close()
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		return noSocket, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	var copied int
	var copying error
	err = raw.Control(func(descriptor uintptr) {
		copied, copying = unix.FcntlInt(descriptor, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, copying); err != nil {
		return noSocket, fmt.Errorf("cannot keep socket of %s: %w", address, err)
	}
	return socket(copied), nil
}

// file returns a copy of the descriptor for a worker; the caller closes it. Unlike (*net.TCPListener).File
// it stays non-blocking: that flag belongs to the socket, so clearing it would block a running worker's
// accept.
func (s socket) file() (*os.File, error) {
	copied, err := unix.FcntlInt(uintptr(s), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot copy listening socket: %w", err)
	}
	return os.NewFile(uintptr(copied), "listener"), nil
}

func (s *socket) close() {
	if *s != noSocket {
		_ = unix.Close(int(*s))
		*s = noSocket
	}
}
