package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

const (
	messageRows  = 100             // messages in one statement: 1 MB at most
	storeLimit   = 5 * time.Second // longest time that a writer of messages waits
	readLimit    = 2 * time.Second // longest time that a reader of old messages waits
	messageConns = 2               // of a process
	connIdle     = time.Minute     // then a connection of a reader is closed
)

// messageSchema is the table of messages. created_at is UTC. Of a removed message all is NULL but its place.
// A thread that is started again under its id has another epoch.
var messageSchema = schema{
	effect: "conversations go on without their database; old messages wait in Redis",
	tables: []string{`CREATE TABLE IF NOT EXISTS messages (
		thread_id VARCHAR(96) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
		epoch VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
		id BIGINT NOT NULL,
		user_id BIGINT UNSIGNED NULL,
		content TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
		created_at DATETIME(3) NULL,
		PRIMARY KEY (thread_id, epoch, id)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`},
	probes: []string{"SELECT thread_id, epoch, id, user_id, content, created_at FROM messages LIMIT 0"},
}

// A message that is there stays as it is, unless it was removed meanwhile; a removed one stays removed.
const (
	insertMessages = "INSERT INTO messages (thread_id, epoch, id, user_id, content, created_at) VALUES "
	keepMessages   = " ON DUPLICATE KEY UPDATE " +
		"user_id = IF(VALUES(content) IS NULL, NULL, messages.user_id), " +
		"created_at = IF(VALUES(content) IS NULL, NULL, messages.created_at), " +
		"content = IF(VALUES(content) IS NULL, NULL, messages.content)"
)

// Message is a message of a thread. Of one that was removed only the ID counts.
type Message struct {
	ID      int64
	User    uint32
	Content string
	Created time.Time
	Removed bool
}

// Messages are the messages that Redis has no more, in the table messages. It has connections of its own,
// two at most: it never delays an order. Its methods are safe for concurrent use.
type Messages struct {
	database *Database
	stored   atomic.Uint64
	failing  atomic.Int64 // since when, in Unix nanoseconds; 0: it works
}

// NewMessages is NewDatabase for messages: it does not connect. Processes that only read need no Prepare.
func NewMessages(dsn string) (*Messages, error) {
	d, err := NewDatabase(dsn)
	if err != nil {
		return nil, err
	}
	d.schema = messageSchema
	d.db.SetMaxOpenConns(messageConns)
	d.db.SetConnMaxIdleTime(connIdle)
	return &Messages{database: d}, nil
}

// OpenMessages is Open for messages.
func OpenMessages(ctx context.Context, dsn string) (*Messages, error) {
	m, err := NewMessages(dsn)
	if err != nil {
		return nil, err
	}
	return m, m.database.open(ctx)
}

// Close ends its connections, where there are any.
func (m *Messages) Close() error {
	if m == nil {
		return nil
	}
	return m.database.Close()
}

// Stored is how many messages were stored, those included that were there before.
func (m *Messages) Stored() uint64 { return m.stored.Load() }

// Waiting is for how long messages have waited for the database; 0 while they get in.
func (m *Messages) Waiting() time.Duration {
	since := m.failing.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// Store writes messages of a thread. After an error the outcome is unknown: store them again.
func (m *Messages) Store(thread, epoch string, list []Message) (err error) {
	ctx, stop := context.WithTimeout(context.Background(), storeLimit)
	defer stop()
	defer func() { m.settle(err) }()
	if err := m.database.Prepare(ctx); err != nil {
		return err
	}
	for some := range slices.Chunk(list, messageRows) {
		var values []any
		for _, message := range some {
			values = append(values, thread, epoch, message.ID)
			if message.Removed {
				values = append(values, nil, nil, nil)
			} else {
				values = append(values, message.User, message.Content, message.Created)
			}
		}
		if err := m.run(ctx, "write", insertMessages+rowsOf(len(some), 6)+keepMessages, values...); err != nil {
			return err
		}
		m.stored.Add(uint64(len(some)))
	}
	return nil
}

// settle notes since when messages cannot be written.
func (m *Messages) settle(err error) {
	if err == nil {
		m.failing.Store(0)
	} else {
		m.failing.CompareAndSwap(0, time.Now().UnixNano())
	}
}

func (m *Messages) run(ctx context.Context, what, statement string, values ...any) error {
	if _, err := m.database.db.ExecContext(ctx, statement, values...); err != nil {
		return fmt.Errorf("cannot %s messages in %v: %w", what, m.database, err)
	}
	return nil
}

// Load returns the messages of a thread from and to these ids, both included, in order.
func (m *Messages) Load(thread, epoch string, from, to int64) (list []Message, err error) {
	ctx, stop := context.WithTimeout(context.Background(), readLimit)
	defer stop()
	var message Message
	var user sql.NullInt64
	var content sql.NullString
	var created sql.NullTime
	err = m.database.each(ctx, "messages", func() error {
		message.User, message.Content, message.Created = uint32(user.Int64), content.String, created.Time
		message.Removed = !content.Valid
		list = append(list, message)
		return nil
	}, []any{&message.ID, &user, &content, &created}, "SELECT id, user_id, content, created_at FROM messages "+
		"WHERE thread_id = ? AND epoch = ? AND id BETWEEN ? AND ? ORDER BY id", thread, epoch, from, to)
	return list, err
}

// Erase removes the content of a message; its place stays.
func (m *Messages) Erase(thread, epoch string, id int64) error {
	ctx, stop := context.WithTimeout(context.Background(), readLimit)
	defer stop()
	return m.run(ctx, "erase", "UPDATE messages SET user_id = NULL, content = NULL, created_at = NULL "+
		"WHERE thread_id = ? AND epoch = ? AND id = ?", thread, epoch, id)
}

// Forget removes the messages of a thread that has ended.
func (m *Messages) Forget(thread, epoch string) (err error) {
	ctx, stop := context.WithTimeout(context.Background(), storeLimit)
	defer stop()
	defer func() { m.settle(err) }()
	if err := m.database.Prepare(ctx); err != nil {
		return err
	}
	return m.run(ctx, "delete", "DELETE FROM messages WHERE thread_id = ? AND epoch = ?", thread, epoch)
}
