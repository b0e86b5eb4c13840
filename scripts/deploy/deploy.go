// Package deploy holds the files with which a sale is installed and the guide that says how. Its tests
// give the files to the programs that read them and carry out the guide, block by block.
package deploy

import _ "embed"

// HAProxy is the configuration of the front. The fault drills take it from here.
//
//go:embed haproxy.cfg
var HAProxy string
