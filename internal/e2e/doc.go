// Package e2e drives the built programs as their users do: it starts servers, calls them over HTTP, and
// breaks their Redis, network and files. It also checks the plan of the repository: which package may import
// which, and the names at the top.
package e2e
