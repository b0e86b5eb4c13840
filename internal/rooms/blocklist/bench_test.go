package blocklist

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cosnicolaou/pbzip2"

	"flashsale/internal/testkit"
)

// benchList is the packed list of a benchmark, for example of scripts/blocklist-gen.
func benchList(b *testing.B) string {
	path := os.Getenv("BLOCKLIST")
	if path == "" {
		b.Skip("set BLOCKLIST to a list of scripts/blocklist-gen")
	}
	return path
}

// BenchmarkDecode is the decoding alone, which an import cannot be faster than.
func BenchmarkDecode(b *testing.B) {
	path := benchList(b)
	for b.Loop() {
		file, err := os.Open(path)
		testkit.Must(b, err)
		n, err := io.Copy(io.Discard, pbzip2.NewReader(context.Background(), file))
		testkit.Must(b, err)
		b.SetBytes(n)
		file.Close()
	}
}

// BenchmarkImport is an import of the same list.
func BenchmarkImport(b *testing.B) {
	list := benchList(b)
	for b.Loop() {
		k, err := NewKeeper(Config{Source: list, Path: filepath.Join(b.TempDir(), "snapshot"), Refresh: time.Hour})
		testkit.Must(b, err)
		testkit.Must(b, k.refresh(context.Background()))
		b.ReportMetric(float64(k.info.Rows), "rows")
		b.ReportMetric(float64(k.info.Stored), "stored")
	}
}

// BenchmarkSnapshot opens a snapshot and asks for documents drawn at random.
func BenchmarkSnapshot(b *testing.B) {
	path := os.Getenv("SNAPSHOT")
	if path == "" {
		b.Skip("set SNAPSHOT to the file blocklist of a data folder")
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			l, err := Open(path)
			testkit.Must(b, err)
			b.ReportMetric(float64(l.Bytes()), "snapshot-bytes")
		}
	})
	l, err := Open(path)
	testkit.Must(b, err)
	dice := rand.New(rand.NewPCG(1, 1))
	texts := make([][]byte, 1<<16)
	for i := range texts {
		texts[i] = Document(dice.IntN(seriesCount * numbersCount)).Append(nil)
	}
	const batch = 500 // as many as a request may have
	b.Run("one", func(b *testing.B) {
		i, listed := 0, 0
		for b.Loop() {
			d, _ := ParseDocument(texts[i&(len(texts)-1)])
			if l.Contains(d) {
				listed++
			}
			i++
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/document")
	})
	b.Run("batch", func(b *testing.B) {
		var documents [batch]Document
		var listed [batch]bool
		i := 0
		for b.Loop() {
			for k := range documents {
				documents[k], _ = ParseDocument(texts[i&(len(texts)-1)])
				i++
			}
			l.Mark(documents[:], listed[:])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/document")
	})
}
