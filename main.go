// Flashsale is a flash-sale server: it sells a limited stock to many buyers at once over HTTP, and no piece
// twice. README.md tells how to run it; the program begins in internal/app.
package main

import (
	"context"
	"os"

	"flashsale/internal/app"
)

func main() { os.Exit(app.Main(context.Background(), os.Args, os.Stdout, os.Stderr)) }
