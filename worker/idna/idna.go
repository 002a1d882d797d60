// Package idna replaces the copy of idna inside net/http when the Worker is compiled (see worker/build.mjs). net/http
// converts hosts of requests that it sends itself. A Worker sends requests through the platform, and package markup
// converts their hosts to A-labels. The original would add Unicode's normalization tables to the program a second time.
package idna

import "errors"

var errNotASCII = errors.New("idna: the host must be in A-labels")

// Profile converts hosts.
type Profile struct{}

// Lookup is the profile that net/http uses.
var Lookup = new(Profile)

// ToASCII returns hosts in A-labels as they are.
func (*Profile) ToASCII(s string) (string, error) { return ToASCII(s) }

// ToASCII returns hosts in A-labels as they are.
func ToASCII(s string) (string, error) {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return "", errNotASCII
		}
	}
	return s, nil
}
