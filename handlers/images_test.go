package handlers

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/rooms/images"
)

const notFound = `{"code":"NOT_FOUND","message":"路径不存在"}`

// A picture comes with its type and a tag, and a client that has it gets no body.
func TestImages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 0, "GET", "/images/0-0.jpg", "", 404, notFound)
		s.join(Images(images.Trial(func(dish, style int) string { return fmt.Sprintf("%d-%d.jpg", dish, style) })))
		for _, query := range []string{"", "?size=160", "?size=65536"} {
			status, body, h := s.call(t, 0, "GET", "/images/4-2.jpg"+query, "")
			tag := h.Get("Etag")
			if status != 200 || !strings.HasPrefix(body, "\xff\xd8") || h.Get("Content-Type") != "image/jpeg" ||
				tag == "" || h.Get("Cache-Control") != "public, max-age=600" ||
				h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v, %d bytes", query, status, h, len(body))
			}
			for given, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x"`: 200, "": 200} {
				status, body, h := s.call(t, 0, "GET", "/images/4-2.jpg"+query, "", "If-None-Match", given)
				if status != want || (body == "") != (want == 304) || h.Get("Etag") != tag {
					t.Errorf("%s, If-None-Match %s: %d, %d bytes", query, given, status, len(body))
				}
			}
			if status, body, h := s.call(t, 0, "HEAD", "/images/4-2.jpg"+query, ""); status != 200 || body != "" ||
				h.Get("Etag") != tag {
				t.Errorf("HEAD: %d %v", status, h)
			}
		}
		for _, size := range []string{"-1", "0", "x", "1.5", "65537", "99999999999"} {
			s.expect(t, 0, "GET", "/images/4-2.jpg?size="+size, "", 400,
				`{"code":"INVALID_SIZE","message":"size 须为1至65536的整数"}`)
		}
		for _, name := range []string{"10-0.jpg", "..%2f..%2fetc%2fpasswd", "%2e%2e", "4-2.jpg%00", "a/b"} {
			s.expect(t, 0, "GET", "/images/"+name, "", 404, notFound)
		}
		if status, _, _ := s.call(t, 0, "POST", "/images/4-2.jpg", "{}"); status != 405 {
			t.Errorf("POST: %d", status)
		}
	})
}
