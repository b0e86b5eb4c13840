package repeats

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	vkVersion      = "5.199"
	vkTimeout      = 10 * time.Second // below the lease
	vkReplyMax     = 64 << 10         // bytes
	vkErrorTextMax = 200
)

// VK is how to reach the API of VK.
type VK struct {
	Groups []Group // of the bot; empty without a bot
	API    string  // base URL, as in https://api.vk.com
}

// Group is a group of VK that sends replies.
type Group struct {
	ID    int64 // 0 for that of the flags
	Token string
}

// vkClient calls messages.send. It follows no redirect: that would give the token to somebody else.
type vkClient struct {
	vk   VK
	http *http.Client
}

func newVKClient(vk VK) *vkClient {
	vk.API = strings.TrimSuffix(vk.API, "/")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &vkClient{vk: vk, http: &http.Client{Timeout: vkTimeout, CheckRedirect: stay}}
}

// refusal is an answer of VK that is an error.
type refusal struct {
	Code    int    `json:"error_code"`
	Message string `json:"error_msg"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("VK answers with error %d: %.*q", r.Code, vkErrorTextMax, r.Message)
}

// tokenCodes are the errors of VK that belong to the token: all replies of the group would get them.
var tokenCodes = []int{
	5,  // the token is not valid, or not any more
	27, // it is no token of a group, or has no right to send
}

func (r *refusal) ofToken() bool { return slices.Contains(tokenCodes, r.Code) }

// finalCodes are the errors of VK that belong to the conversation: later attempts would get them too. All
// others, such as a rate limit or a fault of VK, may pass.
var finalCodes = []int{
	7,             // permission denied
	15,            // access denied
	18,            // the user is deleted or banned
	100,           // a parameter is wrong
	113,           // no such user
	900, 901, 902, // the user does not take messages of the group
	915, 916, 917, 918, 922, 927, 945, 946, // no access to the chat, or it is gone
	932, 935, 936, 939, 950, 983, // the group cannot write to this user, or not any more
}

func (r *refusal) final() bool { return slices.Contains(finalCodes, r.Code) }

// send makes one attempt to send a message. It takes at most vkTimeout. Errors: *refusal, or why VK cannot
// be asked.
func (c *vkClient) send(ctx context.Context, token string, peer int64, randomID int32, text string) error {
	form := url.Values{
		"access_token": {token}, "v": {vkVersion}, "peer_id": {strconv.FormatInt(peer, 10)},
		"random_id": {strconv.FormatInt(int64(randomID), 10)}, "message": {text},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.vk.API+"/method/messages.send",
		strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("cannot make the request to VK: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("cannot reach VK: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("VK answers with status %s", reply.Status)
	}
	var answer struct {
		Error    *refusal        `json:"error"`
		Response json.RawMessage `json:"response"`
	}
	if err := json.NewDecoder(io.LimitReader(reply.Body, vkReplyMax)).Decode(&answer); err != nil {
		return fmt.Errorf("cannot read the answer of VK: %w", err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	if len(answer.Response) == 0 {
		return fmt.Errorf("the answer of VK has neither response nor error")
	}
	return nil
}
