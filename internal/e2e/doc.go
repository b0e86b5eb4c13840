// Package e2e drives the built programs as their users do: it starts servers, speaks HTTP to them, and
// breaks what they stand on. It also holds the plan of the repository: who may import whom, and what lies at
// the top.
package e2e
