package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/store/datafolder"
	"flashsale/internal/testkit"

	"github.com/mediocregopher/radix/v4"
)

// serverProcess returns the ID of the server's process.
func serverProcess(store *Store) (int, error) {
	info, err := command(store, "INFO server")
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)
	if found == nil {
		return 0, errors.New("no process ID in INFO")
	}
	return strconv.Atoi(found[1])
}

func TestServerIsPrivateAndDurable(t *testing.T) {
	testkit.Need(t, programs[0])
	path := testkit.Folder(t)
	store, _ := run(t, lock(t, path))
	if store.Network != "unix" || store.Address != filepath.Join(path, "redis.sock") || store.Password != "" ||
		!store.Durable {
		t.Errorf("store %+v", store)
	}
	want := "private " + store.Name + " in " + path + ": what was answered survives a power cut"
	if store.Description() != want {
		t.Errorf("description %q, want %q", store.Description(), want)
	}
	info, err := os.Stat(store.Address)
	testkit.Must(t, err)
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("socket has mode %04o", mode)
	}
	for setting, want := range map[string]string{"port": "0", "appendonly": "yes", "appendfsync": "always",
		"save": "", "dir": path} {
		wantAnswer(t, store, "CONFIG GET "+setting, want)
	}
}

func TestServerHoldsTheFoldersLock(t *testing.T) {
	testkit.Need(t, programs[0])
	folder := lock(t, testkit.Folder(t))
	_, stop := run(t, folder)
	testkit.Must(t, folder.Unlock())
	second, err := datafolder.Open(folder.Path())
	testkit.Must(t, err)
	testkit.Wants(t, "lock while the server runs", second.Lock(), datafolder.ErrInUse)
	stop()
	if err := second.Lock(); err != nil {
		t.Errorf("lock after the server's end: %v", err)
	}
}

func TestKilledServerIsStartedAgain(t *testing.T) {
	testkit.Need(t, programs[0])
	store, _ := run(t, lock(t, testkit.Folder(t)))
	wantAnswer(t, store, "SET sold 0", "OK")
	for kills := 1; kills <= 2; kills++ {
		wantAnswer(t, store, "INCR sold", strconv.Itoa(kills))
		killed, err := serverProcess(store)
		testkit.Must(t, err)
		testkit.Must(t, syscall.Kill(killed, syscall.SIGKILL))
		testkit.Until(t, "restart", func() bool {
			current, err := serverProcess(store)
			// A server that still reads its data tells its ID already.
			return err == nil && current != killed && answers(store.Address)
		})
		wantAnswer(t, store, "GET sold", strconv.Itoa(kills))
	}
}

// The log line on a store that has ended in mid-sale has the last words of its own log, and none of an
// earlier start.
func TestLastWordsOfAServerThatEnds(t *testing.T) {
	testkit.Need(t, programs[0])
	log := testkit.CaptureLog(t)
	path := testkit.Folder(t)
	earlier := []byte("line of an earlier start\n")
	testkit.Must(t, os.WriteFile(filepath.Join(path, logName), earlier, 0o600))
	store, stop := run(t, lock(t, path))
	if _, err := command(store, "SHUTDOWN"); err == nil {
		t.Error("SHUTDOWN is answered")
	}
	testkit.Until(t, "restart", func() bool { return strings.Contains(log.String(), "store answers again") })
	stop()
	_, line, found := strings.Cut(log.String(), `msg="store ended and is started again"`)
	line, _, _ = strings.Cut(line, "\n")
	const last = `# Redis is now ready to exit, bye bye..."`
	if !found || !strings.HasSuffix(line, last) || strings.Contains(line, "earlier start") {
		t.Errorf("log %s", log)
	}
}

// An append-only file that ends in the middle of a transaction loses that transaction, whole, and no
// later one.
func TestCutAppendOnlyFileIsRepaired(t *testing.T) {
	testkit.Need(t, programs[0])
	path := testkit.Folder(t)
	folder := lock(t, path)
	store, stop := run(t, folder)
	wantAnswer(t, store, "SET sold 1", "OK")
	wantAnswer(t, store, "EVAL redis.call('INCR','sold')return(redis.call('INCR','orders')) 0", "1")
	stop()
	files, err := filepath.Glob(filepath.Join(path, appendFolder, "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	info, err := os.Stat(files[0])
	testkit.Must(t, err)
	// EXEC and half of the last INCR.
	cut := int64(len("*1\r\n$4\r\nEXEC\r\n") + len("orders\r\n"))
	testkit.Must(t, os.Truncate(files[0], info.Size()-cut))
	for _, other := range []string{"0", "1", "1"} {
		store, stop = run(t, folder)
		if kept, err := filepath.Glob(filepath.Join(path, "cut-off-*.aof")); err != nil || len(kept) != 1 {
			t.Errorf("kept: %v, %v; want one file", kept, err)
		}
		wantAnswer(t, store, "GET sold", "1")
		wantAnswer(t, store, "EXISTS orders", "0")
		wantAnswer(t, store, "EXISTS other", other)
		wantAnswer(t, store, "SET other 1", "OK") // what half a transaction would swallow
		stop()
	}
}

// A file that is damaged before its end is left as it is, and the start refused: what stands behind was
// answered.
func TestDamagedAppendOnlyFileIsRefused(t *testing.T) {
	testkit.Need(t, programs[0])
	for name, change := range map[string][2]string{
		"a length in the middle":     {"$6\r\nsold_5", "$999999999"},
		"the length of the last end": {"$4\r\nEXEC\r\n", "$5\r\nEXEC\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := testkit.Folder(t)
			folder := lock(t, path)
			store, stop := run(t, folder)
			for i := range 10 {
				const order = "EVAL redis.call('SET','sold_%d',1)return(redis.call('INCR','orders')) 0"
				wantAnswer(t, store, fmt.Sprintf(order, i), strconv.Itoa(i+1))
			}
			stop()
			files, err := filepath.Glob(filepath.Join(path, appendFolder, "*.incr.aof"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v, %v", files, err)
			}
			text, err := os.ReadFile(files[0])
			testkit.Must(t, err)
			at := bytes.LastIndex(text, []byte(change[0]))
			if at < 0 {
				t.Fatalf("no %q in the file", change[0])
			}
			copy(text[at:], change[1])
			testkit.Must(t, os.WriteFile(files[0], text, 0o600))
			_, err = Start(t.Context(), Config{Folder: folder})
			if err == nil || !strings.Contains(err.Error(), "is damaged at byte ") {
				t.Errorf("error %v", err)
			}
			if after, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(after, text) {
				t.Errorf("the file was changed: %d of %d bytes, %v", len(after), len(text), err)
			}
		})
	}
}

func TestUnfinished(t *testing.T) {
	const multi, exec = "*1\r\n$5\r\nMULTI\r\n", "*1\r\n$4\r\nEXEC\r\n"
	const set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
	for tail, want := range map[string]bool{
		multi + set + set: true, multi + set + set[:9]: true, multi: true, multi + set + exec[:len(exec)-1]: true,
		"*": true, set[:len(set)-1]: true, multi[:5]: true,
		multi + set + exec: false, multi + set + multi + set: false, set + set: false, "*3\r\n$9\r\nSET\r\n" +
			set: false,
	} {
		if got := unfinished([]byte(tail)); got != want {
			t.Errorf("%q: %v, want %v", tail, got, want)
		}
	}
}

// command sends one command, of words without blanks. It returns the reply as a text, of a list its last
// element.
func command(store *Store, words string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	c, err := radix.Dialer{AuthPass: store.Password}.Dial(ctx, store.Network, store.Address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	fields := strings.Fields(words)
	var reply any
	err = c.Do(ctx, radix.Cmd(&reply, fields[0], fields[1:]...))
	if list, ok := reply.([]any); ok {
		reply = list[len(list)-1]
	}
	if text, ok := reply.([]byte); ok {
		return string(text), err
	}
	return fmt.Sprint(reply), err
}

func TestAnswers(t *testing.T) {
	for reply, want := range map[string]bool{
		"+PONG\r\n": true,
		"-LOADING Redis is loading the dataset in memory\r\n": false,
		"+PONG":                   false,
		"":                        false,
		strings.Repeat("x", 8192): false,
	} {
		socket := filepath.Join(testkit.Folder(t), "s")
		listener, err := net.Listen("unix", socket)
		testkit.Must(t, err)
		served := make(chan string)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				served <- err.Error()
				return
			}
			defer conn.Close()
			ask := make([]byte, len("*1\r\n$4\r\nPING\r\n"))
			io.ReadFull(conn, ask)
			io.WriteString(conn, reply)
			served <- string(ask)
		}()
		if got := answers(socket); got != want {
			t.Errorf("a server that replies %.20q answers: %v, want %v", reply, got, want)
		}
		if ask := <-served; ask != "*1\r\n$4\r\nPING\r\n" {
			t.Errorf("server was asked %q", ask)
		}
		listener.Close()
		if answers(socket) {
			t.Error("a server that is gone answers")
		}
	}
}
