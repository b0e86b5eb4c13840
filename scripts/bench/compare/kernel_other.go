//go:build !linux

package compare

import (
	"errors"
	"os"
)

func serveKernel(*os.File, cannedBodies) error {
	return errors.New("the side " + KernelProgram + " runs on Linux only: it needs epoll")
}
