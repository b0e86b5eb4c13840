package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
	"flashsale/internal/export"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/events"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/oidc"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/rooms/payments"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/rooms/threads"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/serve/framing"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/turnover"
)

// failure is an error reply: a status and its ready-made bodies.
type failure struct {
	status  int
	body    []byte
	english []byte
}

// newFailure makes an error reply. Its English message stands in the table english.
func newFailure(status int, code, message string) *failure {
	return inBoth(status, code, message, english[code])
}

// inBoth makes an error reply whose messages are made for it.
func inBoth(status int, code, chinese, english string) *failure {
	body := func(message string) []byte {
		text, _ := json.Marshal(message) // a string can always be written
		return fmt.Appendf(nil, `{"code":%q,"message":%s}`, code, text)
	}
	return &failure{status, body(chinese), body(english)}
}

// nobody is errUserNotFound with the text for which there is no user: a call may name many.
func nobody(text string) *failure {
	const longest = 128 // bytes of a name
	text = strings.ToValidUTF8(text[:min(len(text), longest)], "")
	return inBoth(errUserNotFound.status, "USER_NOT_FOUND", "用户不存在："+text, "There is no such user: "+text)
}

var (
	errInvalidToken   = newFailure(401, "INVALID_ACCESS_TOKEN", "无效的令牌")
	errEmptyRequest   = newFailure(400, "EMPTY_REQUEST", "请求体为空")
	errMalformedJSON  = newFailure(400, "MALFORMED_JSON", "格式错误")
	errUserAuth       = newFailure(403, "USER_AUTH_FAIL", "用户名或密码错误")
	errCartNotFound   = newFailure(404, "CART_NOT_FOUND", "篮子不存在")
	errNotYourCart    = newFailure(401, "NOT_AUTHORIZED_TO_ACCESS_CART", "无权限访问指定的篮子")
	errFoodNotFound   = newFailure(404, "FOOD_NOT_FOUND", "食物不存在")
	errFoodLimit      = newFailure(403, "FOOD_OUT_OF_LIMIT", "篮子中食物数量超过了三个")
	errCartEmpty      = newFailure(403, "CART_EMPTY", "篮子为空")
	errFoodOutOfStock = newFailure(403, "FOOD_OUT_OF_STOCK", "食物库存不足")
	errOrderLimit     = newFailure(403, "ORDER_OUT_OF_LIMIT", "每个用户只能下一单")
	errNotOpen        = newFailure(403, "SALE_NOT_OPEN", "抢购未开始")
	errPaused         = newFailure(403, "SALE_PAUSED", "抢购已暂停")
	errClosed         = newFailure(403, "SALE_CLOSED", "抢购已结束")
	errUnavailable    = newFailure(503, "SERVICE_UNAVAILABLE", "服务繁忙")

	errNotFound          = newFailure(404, "NOT_FOUND", "路径不存在")
	errMethodNotAllowed  = newFailure(405, "METHOD_NOT_ALLOWED", "方法不允许")
	errBadRequest        = newFailure(400, "BAD_REQUEST", "无法解析请求")
	errBodyTooLarge      = newFailure(413, "BODY_TOO_LARGE", "请求体过大")
	errURLTooLong        = newFailure(414, "URL_TOO_LONG", "请求地址过长")
	errHeadTooLarge      = newFailure(431, "HEADER_TOO_LARGE", "请求头过大")
	errBadIdempotencyKey = newFailure(400, "INVALID_IDEMPOTENCY_KEY", "Idempotency-Key 须为1至255个字符")
	errKeyReused         = newFailure(409, "IDEMPOTENCY_KEY_REUSED", "Idempotency-Key 已用于其他请求")
	errWrongSecret       = newFailure(403, "INVALID_SECRET", "密钥错误")
	errTooManyRequests   = newFailure(429, "TOO_MANY_REQUESTS", "请求过于频繁")
	errNoLimit           = newFailure(404, "LIMIT_NOT_FOUND", "没有对应的限流规则")
	errCostLimit         = newFailure(400, "COST_OUT_OF_LIMIT", "cost 超过限流规则的次数")
	errNotAllowed        = newFailure(403, "NOT_ALLOWED", "无权执行此操作")
	errNoUsersCall       = newFailure(403, "NOT_FOR_OPERATORS", "操作员不能执行用户的操作")
	errOtherPlace        = newFailure(403, "ADDRESS_NOT_ALLOWED", "不能从此地址执行此操作")
	errCodeNeeded        = newFailure(403, "CODE_NEEDED", "需要验证码")
	errWrongCode         = newFailure(403, "WRONG_CODE", "验证码错误或已使用")
	errOIDCRefused       = newFailure(403, "OIDC_REFUSED", "登录未完成、已过期或无效")
	errNoOperator        = newFailure(403, "NOT_AN_OPERATOR", "该账户不是操作员")
	errProviderAway      = newFailure(503, "OIDC_UNAVAILABLE", "无法连接登录服务")
	errDocumentInvalid   = newFailure(403, "DOCUMENT_INVALID", "证件无效")
	errTooManyDocuments  = newFailure(413, "TOO_MANY_DOCUMENTS", "一次最多查询500个证件")
	errBadKey            = newFailure(400, "INVALID_KEY", "键无效")
	errBadRange          = newFailure(400, "INVALID_RANGE", "时间范围、步长或次数无效")
	errNoTraffic         = newFailure(404, "KEY_NOT_FOUND", "没有该键的统计")
	errStateConflict     = newFailure(409, "SALE_STATE_CONFLICT", "抢购状态冲突")
	errClocksDiffer      = newFailure(409, "SALE_CLOCKS_DIFFER", "Redis 时钟相差过大，无法定时")
	errBadState          = newFailure(400, "INVALID_SALE_STATE", "抢购状态无效")
	errBadTimes          = newFailure(400, "INVALID_SALE_TIMES", "开始或结束时间无效")
	errClosesInPast      = newFailure(400, "CLOSES_IN_PAST", "结束时间已过；要立即结束，请发送 state 为 closed")
	errOpensInPast       = newFailure(400, "OPENS_IN_PAST", "开始时间已过；要立即开始，请发送 state 为 open")
	errBadAdd            = newFailure(400, "INVALID_ADD", "add 不能为 0，且绝对值不能超过 1000000000")
	errBadFormat         = newFailure(400, "INVALID_FORMAT", "format 须为 csv 或 jsonl")
	errNotClosed         = newFailure(409, "SALE_NOT_CLOSED", "抢购尚未结束，请先结束")
	errLedgerBehind      = newFailure(409, "LEDGER_BEHIND", "仍有订单未写入账本，请稍后再试")
	errBadRows           = newFailure(400, "INVALID_ROWS", "rows 须为 orders 或 items")
	errTooManyOrders     = newFailure(413, "TOO_MANY_ORDERS", "订单过多，无法排序；请缩小范围或使用 flashsale sale export")
	errRuleLimit         = newFailure(403, "RULE_LIMIT", "超过每人限购数量")
	errRuleEarly         = newFailure(403, "RULE_TOO_EARLY", "您的购买时间未到")
	errRuleLate          = newFailure(403, "RULE_TOO_LATE", "您的购买时间已过")
	errRuleList          = newFailure(403, "RULE_NOT_LISTED", "您不在可购买名单中")
	errRuleHousehold     = newFailure(403, "RULE_HOUSEHOLD", "同户的其他用户已下单")
	errCouponNeeded      = newFailure(403, "COUPON_NEEDED", "需要优惠码")
	errCouponUnknown     = newFailure(403, "COUPON_UNKNOWN", "优惠码不存在")
	errCouponUsed        = newFailure(403, "COUPON_USED", "优惠码已使用")
	errNoSale            = newFailure(404, "SALE_NOT_FOUND", "场次不存在")
	errNoOrder           = newFailure(404, "ORDER_NOT_FOUND", "订单不存在")
	errSaleEnded         = newFailure(409, "SALE_ENDED", "该场次已结束，其订单只能整单取消")
	errOrderPaid         = newFailure(409, "ORDER_PAID", "订单已支付")
	errOrderChanged      = newFailure(409, "ORDER_CHANGED", "订单已改变，请重新查看")
	errManyPayments      = newFailure(409, "TOO_MANY_PAYMENTS", "该订单的支付次数过多")
	errProvider          = newFailure(502, "PROVIDER_UNAVAILABLE", "支付服务暂时不可用，请稍后再试")
	errSignature         = newFailure(401, "SIGNATURE_INVALID", "签名无效")
	errNoRefund          = newFailure(404, "REFUND_NOT_FOUND", "退款不存在")
	errBadReason         = newFailure(400, "INVALID_REASON", "reason 须为1至200个可见字符，且不得为系统自用的原因，如 expired")
	errBadItems          = newFailure(400, "INVALID_ITEMS", "items 须为订单的一部分，且不能为空")
	errBadHoldState      = newFailure(400, "INVALID_STATE", "state 无效")
	errManyReleased      = newFailure(403, "TOO_MANY_RELEASED", "已释放的订单过多，不能再下单")
	errBadName           = newFailure(400, "INVALID_NAME", "用户名须为3至32个可见字符，且不能全为数字")
	errMixedName         = newFailure(400, "MIXED_NAME", "用户名不能混用不同文字的字母")
	errBadPassword       = newFailure(400, "INVALID_PASSWORD", "密码须为8个字符至256字节")
	errBadEmail          = newFailure(400, "INVALID_EMAIL", "邮箱地址无效")
	errNameTaken         = newFailure(409, "NAME_TAKEN", "用户名已被使用")
	errAccountsFull      = newFailure(403, "ACCOUNTS_FULL", "注册人数已满")
	errCatalogueUser     = newFailure(403, "CATALOGUE_USER", "目录用户由目录管理")
	errAccountClosed     = newFailure(409, "ACCOUNT_CLOSED", "账户已注销")
	errTooManyEnded      = newFailure(429, "TOO_MANY_LOGOUTS", "退出登录的用户过多")
	errNoBuyer           = newFailure(403, "REGISTERED_NOT_ALLOWED", "注册用户不能参加本次抢购")
	errUserNotFound      = newFailure(404, "USER_NOT_FOUND", "用户不存在")
	errNoContact         = newFailure(404, "CONTACT_NOT_FOUND", "联系人不存在")
	errBadContact        = newFailure(400, "INVALID_CONTACT", "联系人不能是自己，备注最多64个可见字符")
	errTooManyContacts   = newFailure(403, "CONTACTS_OUT_OF_LIMIT", "联系人不能超过1000个")
	errBadPage           = newFailure(400, "INVALID_PAGE", "分页参数无效")
	errNoThread          = newFailure(404, "THREAD_NOT_FOUND", "会话不存在")
	errNotMember         = newFailure(403, "NOT_A_MEMBER", "不是会话成员")
	errNotOwner          = newFailure(403, "NOT_AN_OWNER", "不是群主")
	errLastOwner         = newFailure(409, "LAST_OWNER", "群中须有一位群主")
	errThreadKind        = newFailure(409, "WRONG_KIND_OF_THREAD", "该会话不支持此操作")
	errBlocked           = newFailure(403, "USER_BLOCKED", "对方或您已屏蔽")
	errThreadLimit       = newFailure(403, "THREAD_OUT_OF_LIMIT", "发起的会话过多")
	errGroupFull         = newFailure(403, "GROUP_FULL", "群成员已满")
	errBadThread         = newFailure(400, "INVALID_THREAD", "会话参数无效")
	errBadMessage        = newFailure(400, "INVALID_MESSAGE", "消息为空或编号过长")
	errMessageTooLong    = newFailure(413, "MESSAGE_TOO_LONG", "消息不能超过4096字节")
	errMuted             = newFailure(403, "USER_MUTED", "您已被禁言")
	errSlowMode          = newFailure(429, "SLOW_MODE", "发言过于频繁")
	errRepeated          = newFailure(429, "MESSAGE_REPEATED", "相同内容发送过多")
	errNoMessage         = newFailure(404, "MESSAGE_NOT_FOUND", "消息不存在")
	errHistory           = newFailure(503, "HISTORY_UNAVAILABLE", "暂时无法读取较早的消息")
	errEventsGone        = newFailure(410, "EVENTS_GONE", "该位置之后的事件已不再保存")
	errNoWebhook         = newFailure(404, "WEBHOOK_NOT_FOUND", "没有该 webhook")
	errNoLetter          = newFailure(404, "LETTER_NOT_FOUND", "没有该未送达的事件")
	errWebhookRefused    = newFailure(502, "WEBHOOK_REFUSED", "对方未接受该事件")
	errBadSize           = newFailure(400, "INVALID_SIZE", "size 须为1至65536的整数")
	errInternal          = newFailure(500, "INTERNAL_ERROR", "内部错误")
)

// failures lists all of them, so that their rates begin with 0. A test compares the list with openapi.yaml.
var failures = []*failure{
	errInvalidToken, errEmptyRequest, errMalformedJSON, errUserAuth, errCartNotFound,
	errNotYourCart, errFoodNotFound, errFoodLimit, errCartEmpty, errFoodOutOfStock, errOrderLimit,
	errNotOpen, errPaused, errClosed, errUnavailable, errNotFound, errMethodNotAllowed,
	errBadRequest, errBodyTooLarge, errURLTooLong, errHeadTooLarge, errBadIdempotencyKey,
	errKeyReused, errWrongSecret, errTooManyRequests, errNoLimit, errCostLimit, errNotAllowed,
	errNoUsersCall, errOtherPlace, errCodeNeeded, errWrongCode, errOIDCRefused, errNoOperator,
	errProviderAway, errDocumentInvalid, errTooManyDocuments,
	errBadKey, errBadRange, errNoTraffic,
	errStateConflict, errClocksDiffer, errBadState, errBadTimes, errClosesInPast, errOpensInPast,
	errBadAdd, errBadFormat, errNotClosed, errLedgerBehind, errBadRows, errTooManyOrders, errNoSale, errNoOrder,
	errSaleEnded,
	errRuleLimit, errRuleEarly, errRuleLate, errRuleList, errRuleHousehold, errCouponNeeded, errCouponUnknown,
	errCouponUsed,
	errOrderPaid, errManyReleased, errOrderChanged, errManyPayments,
	errProvider, errSignature, errNoRefund, errBadReason, errBadItems, errBadHoldState,
	errBadName, errMixedName, errBadPassword, errBadEmail, errNameTaken, errAccountsFull, errCatalogueUser,
	errAccountClosed, errTooManyEnded, errNoBuyer, errUserNotFound, errNoContact, errBadContact,
	errTooManyContacts,
	errBadPage,
	errNoThread, errNotMember, errNotOwner, errLastOwner, errThreadKind, errBlocked,
	errThreadLimit, errGroupFull, errBadThread, errBadMessage, errMessageTooLong, errMuted, errSlowMode,
	errRepeated, errNoMessage, errHistory, errEventsGone, errNoWebhook, errNoLetter, errWebhookRefused,
	errBadSize, errInternal,
}

// outcomes maps the errors of redisx and of the rooms to replies.
var outcomes = []struct {
	err     error
	failure *failure
}{
	{threads.ErrArchive, errHistory}, // it is an ErrUnavailable too
	{redisx.ErrUnavailable, errUnavailable},
	{limits.ErrNoRule, errNoLimit},
	{limits.ErrNeverFits, errCostLimit},
	{limits.ErrBadValue, errBadRequest},
	{traffic.ErrBadKey, errBadKey},
	{traffic.ErrBadRange, errBadRange},
	{traffic.ErrNoKey, errNoTraffic},
	{credentials.ErrBadName, errBadName},
	{credentials.ErrMixedName, errMixedName},
	{credentials.ErrBadPassword, errBadPassword},
	{accounts.ErrBadEmail, errBadEmail},
	{accounts.ErrNameTaken, errNameTaken},
	{accounts.ErrFull, errAccountsFull},
	{credentials.ErrBusy, errTooManyRequests},
	{credentials.ErrWrongPassword, errUserAuth},
	{accounts.ErrCatalogueUser, errCatalogueUser},
	{accounts.ErrClosed, errAccountClosed},
	{sessions.ErrTooMany, errTooManyEnded},
	{accounts.ErrNoUser, errUserNotFound},
	{accounts.ErrNoContact, errNoContact},
	{accounts.ErrBadContact, errBadContact},
	{accounts.ErrTooManyContacts, errTooManyContacts},
	{operators.ErrWrongCode, errWrongCode},
	{operators.ErrNobody, errNoOperator},
	{oidc.ErrRefused, errOIDCRefused},
	{oidc.ErrAway, errProviderAway},
	{oidc.ErrBusy, errTooManyRequests},
	{oidc.ErrBadChallenge, errBadRequest},
	{redisx.ErrSaleGone, errUnavailable},
	{redisx.ErrOverLimit, errFoodLimit},
	{redisx.ErrHasOrder, errOrderLimit},
	{redisx.ErrNotOpen, errNotOpen},
	{redisx.ErrPaused, errPaused},
	{redisx.ErrClosed, errClosed},
	{redisx.ErrStateConflict, errStateConflict},
	{redisx.ErrOtherSale, errStateConflict},
	{redisx.ErrClocksDiffer, errClocksDiffer},
	{redisx.ErrWrongTimes, errBadTimes},
	{redisx.ErrClosesInPast, errClosesInPast},
	{redisx.ErrKeyReused, errKeyReused},
	{export.ErrTooMany, errTooManyOrders},
	{ErrNextBusy, errTooManyRequests},
	{turnover.ErrNoPastSale, errNoSale},
	{turnover.ErrNotClosed, errNotClosed},
	{turnover.ErrLedgerBehind, errLedgerBehind},
	{turnover.ErrOverAlready, errClosesInPast},
	{redisx.ErrTooMany, errRuleLimit},
	{redisx.ErrTooEarly, errRuleEarly},
	{redisx.ErrTooLate, errRuleLate},
	{redisx.ErrNotListed, errRuleList},
	{redisx.ErrHousehold, errRuleHousehold},
	{redisx.ErrCouponNeeded, errCouponNeeded},
	{redisx.ErrCouponUsed, errCouponUsed},
	{redisx.ErrNoCoupon, errCouponUnknown},
	{redisx.ErrReleased, errManyReleased},
	{held.ErrNone, errNoOrder},
	{held.ErrPaid, errOrderPaid},
	{held.ErrTooMany, errManyPayments},
	{held.ErrChanged, errOrderChanged},
	{held.ErrNotLess, errBadItems},
	{held.ErrNoMoney, errNoRefund},
	{payments.ErrProvider, errProvider},
	{payments.ErrBusy, errTooManyRequests},
	{payments.ErrForged, errSignature},
	{payments.ErrStale, errSignature},
	{payments.ErrMalform, errMalformedJSON},
	{redisx.ErrCartEmpty, errCartEmpty},
	{redisx.ErrOutOfStock, errFoodOutOfStock},
	{threads.ErrNoUser, errUserNotFound},
	{threads.ErrNoThread, errNoThread},
	{threads.ErrNotMember, errNotMember},
	{threads.ErrNotOwner, errNotOwner},
	{threads.ErrLastOwner, errLastOwner},
	{threads.ErrNoGroup, errThreadKind},
	{threads.ErrBlocked, errBlocked},
	{threads.ErrStarts, errThreadLimit},
	{threads.ErrStartsRate, errTooManyRequests},
	{threads.ErrFull, errGroupFull},
	{threads.ErrBadStart, errBadThread},
	{threads.ErrBadChange, errBadThread},
	{threads.ErrBadMessage, errBadMessage},
	{threads.ErrTooLong, errMessageTooLong},
	{threads.ErrMuted, errMuted},
	{threads.ErrPace, errSlowMode},
	{threads.ErrNoMessage, errNoMessage},
	{events.ErrGone, errEventsGone},
	{events.ErrBadCursor, errBadPage},
	{events.ErrNoWebhook, errNoWebhook},
	{events.ErrNoLetter, errNoLetter},
	{events.ErrRefused, errWebhookRefused},
}

// failureOf finds an error in the table of outcomes; errInternal if it is not there.
func failureOf(err error) *failure {
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.failure
		}
	}
	return errInternal
}

// refusals are the replies to requests that framing does not accept.
var refusals = map[framing.Verdict]*failure{
	framing.BadRequest:   errBadRequest,
	framing.BodyTooLarge: errBodyTooLarge,
	framing.URLTooLong:   errURLTooLong,
	framing.HeadTooLarge: errHeadTooLarge,
	framing.NoRoom:       errUnavailable,
}

// refuse makes the reply to a request that framing refuses, and counts it.
func (s *Server) refuse(r *fasthttp.Response, peer netip.Addr, v framing.Verdict) {
	f := refusals[v]
	r.SetStatusCode(f.status)
	r.Header.SetContentTypeBytes(contentTypeJSON)
	if f.status == fasthttp.StatusServiceUnavailable {
		r.Header.Set("Retry-After", "1")
	}
	r.SetBodyRaw(f.body)
	s.countUnread(r, peer)
}

// badRequest answers a request that cannot be read.
func badRequest(ctx *fasthttp.RequestCtx) {
	reply(ctx, errBadRequest)
	ctx.SetConnectionClose()
}

// malformed answers a request that framing accepts and fasthttp does not.
func (s *Server) malformed(ctx *fasthttp.RequestCtx) {
	badRequest(ctx)
	s.countUnread(&ctx.Response, peerOf(ctx))
}
