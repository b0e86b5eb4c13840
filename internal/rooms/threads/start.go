package threads

// Start describes a thread to start.
type Start struct {
	Participants []uint32 // besides the user who starts it
	Group        bool     // a group even with one other participant
	History      bool     // of a group: new members see the messages from before
	Key          string   // of a group: the same user and key start one group, however often; "" for always a new one
}

// Start starts a thread. A thread of two is found if it exists, also when both start it at once.
// Errors: ErrBadThread, ErrBlocked, ErrStarts, ErrStartsRate.
func (t *Threads) Start(by uint32, s Start) (Thread, error) { panic("to come") }
