// Package deploy holds the files to install a sale and the guide to them. Its tests check the files with the
// programs that read them and carry out the guide, block by block.
package deploy

import _ "embed"

// HAProxy is the configuration of the front. The fault drills take it from here.
//
//go:embed haproxy.cfg
var HAProxy string
