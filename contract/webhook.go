package contract

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// SignatureHeader is the header with the signature of what is posted to a webhook.
const SignatureHeader = "X-Newsfork-Signature"

// SignWebhook returns the signature of a body: "t=", the time in seconds since 1970, ",v1=", and the hexadecimal
// HMAC-SHA256 of the time, a dot and the body. A receiver that checks the time rejects replays.
func SignWebhook(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
