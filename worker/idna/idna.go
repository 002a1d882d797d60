// Package idna is what the Worker's program is compiled with in the place of the idna that Go's net/http brings along
// (see worker/build.mjs). net/http converts hosts of requests that it sends itself; a Worker sends its requests
// through the platform, and package markup brings their hosts into A-labels. With it the tables of Unicode's
// normalisation and bidirectional rules, which are in the program once already, would be there twice.
package idna

import "errors"

var errNotASCII = errors.New("idna: a host is given in A-labels here")

// Profile is that of all hosts.
type Profile struct{}

// Lookup is the profile that net/http asks.
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
