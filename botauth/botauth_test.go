//go:build !js

package botauth

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The key of RFC 9421, B.1.4.
const testKey = `{"kty":"OKP","crv":"Ed25519","kid":"test-key-ed25519",` +
	`"d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`

func signerOf(t *testing.T, form Form, agent string) *Signer {
	t.Helper()
	keys, err := ParseKeys(testKey)
	if err != nil {
		t.Fatal(err)
	}
	return &Signer{Keys: keys, Agent: agent, Form: form, Sign: Native,
		Now: func() time.Time { return time.Unix(1795435200, 0) }}
}

// Made with the published key, and verified by an independent library (npm http-message-sig).
func TestSigner_Request(t *testing.T) {
	const directory = "https://bot.newsfork.example" + DirectoryPath
	for name, c := range map[string]struct {
		form                    Form
		agent, field, signature string
	}{
		"string": {String, "https://bot.newsfork.example", `"https://bot.newsfork.example"`,
			"BuagqJ6R3gZ3qX06tu3yy16ggMrSXFu8fpjeijdQsME6oQ23IbnU+aibjYkPk1nyBAtihSt0lJQforj8geY5AA=="},
		"dictionary": {Dictionary, directory, `sig1="` + directory + `"`,
			"9MlP3T5uLuig75vTMTW+KHIDaX01LawBinRHNypVAxEFiFayYsWbfP04E7+/o/ZgQLTWPMz6CWoI7bYhr0b8BA=="},
		"the host's key set": {Dictionary, "https://bot.newsfork.example/", `sig1="` + directory + `"`,
			"9MlP3T5uLuig75vTMTW+KHIDaX01LawBinRHNypVAxEFiFayYsWbfP04E7+/o/ZgQLTWPMz6CWoI7bYhr0b8BA=="},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := signerOf(t, c.form, c.agent).Request(t.Context(), "www.council.example.com")
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Get("Signature-Agent"); got != c.field {
				t.Errorf("Signature-Agent: %s", got)
			}
			if got := h.Get("Signature"); got != "sig1=:"+c.signature+":" {
				t.Errorf("Signature: %s", got)
			}
			if got := h.Get("Signature-Input"); !strings.HasSuffix(got, `;created=1795435200;expires=1795435320;`+
				`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";tag="web-bot-auth"`) {
				t.Errorf("Signature-Input: %s", got)
			}
		})
	}
}

// The vectors of draft -01 (E.2.1, E.2.2, E.2.3) have parameters that are not ours. They are signed as they stand.
func TestNative_PublishedVectors(t *testing.T) {
	key := signerOf(t, String, "").Keys[0]
	for name, c := range map[string]struct {
		base      []string
		signature string
	}{
		"string": {[]string{
			`"@authority": example.com`,
			`"signature-agent": "https://signature-agent.test"`,
			`"@signature-params": ("@authority" "signature-agent");created=1735689600;` +
				`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200;` +
				`nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";` +
				`tag="web-bot-auth"`},
			"jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA=="},
		"dictionary": {[]string{
			`"@authority": example.com`,
			`"signature-agent";key="agent2": "https://signature-agent.test"`,
			`"@signature-params": ("@authority" "signature-agent";key="agent2");created=1735689600;` +
				`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;` +
				`nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";` +
				`tag="web-bot-auth"`},
			"RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg=="},
		"directory": {[]string{
			`"@authority";req: signature-agent.test`,
			`"content-digest": sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:`,
			`"@signature-params": ("@authority";req "content-digest");created=1735689600;expires=4889289600;` +
				`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";tag="http-message-signatures-directory"`},
			"l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg=="},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Native(t.Context(), key, strings.Join(c.base, "\n"))
			if got := base64.StdEncoding.EncodeToString(b); err != nil || got != c.signature {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// The body and digest are those of draft -01, E.2.3.
func TestSigner_Directory(t *testing.T) {
	s := signerOf(t, String, "https://signature-agent.test")
	body, h, err := s.Directory(t.Context(), "signature-agent.test")
	if err != nil {
		t.Fatal(err)
	}
	if body != `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",`+
		`"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}` ||
		h.Get("Content-Digest") != "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:" {
		t.Errorf("%s %v", body, h)
	}
	second, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s.Keys = append(s.Keys, second)
	body, h, err = s.Directory(t.Context(), "signature-agent.test")
	if err != nil || strings.Contains(body, second.D) || !strings.Contains(body, second.X) ||
		len(h["Signature"]) != 1 || !strings.Contains(h.Get("Signature"), ", binding1=:") ||
		!strings.Contains(h.Get("Signature-Input"), `keyid="`+second.ID+`"`) {
		t.Errorf("%s %v %v", body, h, err)
	}
}

func TestParseKeys(t *testing.T) {
	keys, err := ParseKeys(`{"keys":[` + testKey + `]}`)
	if err != nil || len(keys) != 1 || keys[0].ID != testKeyID || !keys[0].Published() {
		t.Fatalf("%+v, %v", keys, err)
	}
	again, err := ParseKeys(keys[0].JWK())
	if err != nil || again[0] != keys[0] {
		t.Errorf("%+v, %v", again, err)
	}
	const secret = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
	for name, text := range map[string]string{
		"no JSON": secret, "empty set": `{"keys":[]}`, "none": `{}`,
		"another curve":   strings.Replace(testKey, "Ed25519", "X25519", 1),
		"a public key":    strings.Replace(testKey, `"d"`, `"e"`, 1),
		"a short key":     strings.Replace(testKey, "KcU", "", 1),
		"padded":          strings.Replace(testKey, "KcU", "KcU=", 1),
		"twice":           `{"keys":[` + testKey + `,` + testKey + `]}`,
		"too many":        `{"keys":[` + strings.Repeat(`{},`, maxKeys) + `{}]}`,
		"spare last bits": strings.Replace(testKey, "KcU", "KcV", 1),
	} {
		if keys, err := ParseKeys(text); err == nil || strings.Contains(err.Error(), secret[:10]) {
			t.Errorf("%s: %v, %v", name, keys, err)
		}
	}
}

func TestNative_ForeignPublicKey(t *testing.T) {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key.X = other.X
	if b, err := Native(context.Background(), key, "text"); err == nil {
		t.Errorf("%x", b)
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add(testKey)
	f.Add(`{"keys":[` + testKey + `]}`)
	f.Add(`{"keys":null,"kty":"OKP"}`)
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys(text)
		if err != nil {
			return
		}
		for _, k := range keys {
			if again, err := ParseKeys(k.JWK()); err != nil || again[0] != k {
				t.Errorf("%+v: %+v, %v", k, again, err)
			}
		}
	})
}

func TestCheckDirectory(t *testing.T) {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s := signerOf(t, String, "")
	s.Keys = append(s.Keys, key)
	made := func() (string, http.Header) {
		body, h, err := s.Directory(t.Context(), "bot.newsfork.example")
		if err != nil {
			t.Fatal(err)
		}
		h.Set("Content-Type", DirectoryType)
		return body, h
	}
	body, h := made()
	ids, err := CheckDirectory("bot.newsfork.example", h, []byte(body), s.Now())
	if err != nil || len(ids) != 2 || ids[1] != key.ID {
		t.Fatalf("%v, %v", ids, err)
	}
	for name, change := range map[string]func(host, body *string, h http.Header, now *time.Time){
		"another host": func(host, _ *string, _ http.Header, _ *time.Time) { *host = "copy.example" },
		"another body": func(_, body *string, _ http.Header, _ *time.Time) { *body += " " },
		"a charset": func(_, _ *string, h http.Header, _ *time.Time) {
			h.Set("Content-Type", DirectoryType+"; charset=utf-8")
		},
		"expired":      func(_, _ *string, _ http.Header, now *time.Time) { *now = now.Add(directoryLifetime) },
		"no proof":     func(_, _ *string, h http.Header, _ *time.Time) { h.Del("Signature-Input") },
		"no signature": func(_, _ *string, h http.Header, _ *time.Time) { h.Del("Signature") },
		"a swapped proof": func(_, _ *string, h http.Header, _ *time.Time) {
			swap := strings.NewReplacer("binding0", "binding1", "binding1", "binding0")
			h.Set("Signature", swap.Replace(h.Get("Signature")))
		},
	} {
		host, now := "bot.newsfork.example", s.Now()
		body, h := made()
		change(&host, &body, h, &now)
		if ids, err := CheckDirectory(host, h, []byte(body), now); err == nil {
			t.Errorf("%s: %v", name, ids)
		}
	}
}
