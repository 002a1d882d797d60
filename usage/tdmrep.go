package usage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// FilePath is where sites keep their TDM reservations. MaxFileBytes caps the file: pass OfFile one byte more of a
// larger one.
const (
	FilePath     = "/.well-known/tdmrep.json"
	MaxFileBytes = 64 << 10
)

const (
	maxLocation   = 200  // bytes of a pattern
	maxRulesBytes = 1600 // of all rules of a site, as Encode writes them
)

// OfFile returns the rules of a tdmrep.json, fewer than contract.MaxTDMRules. A rule without a usable location or
// reservation is skipped, as the protocol asks. No limit lifts a reservation: what is cut or left out is replaced by a
// rule that reserves more.
func OfFile(data []byte) ([]contract.TDMRule, error) {
	all := contract.TDMRule{Location: "/", Reserved: true, Source: contract.UsageFile}
	if len(data) > MaxFileBytes && bytes.Contains(data, []byte(`"tdm-reservation"`)) {
		return []contract.TDMRule{all}, nil
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) > 0 && data[0] == '{' { // a single rule
		data = append(append([]byte{'['}, data...), ']')
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("it is not a list of rules: %w", err)
	}
	rules, size := []contract.TDMRule{}, 0
	for _, item := range list {
		var fields struct {
			Location    any `json:"location"`
			Reservation any `json:"tdm-reservation"`
			Policy      any `json:"tdm-policy"`
		}
		if json.Unmarshal(item, &fields) != nil {
			continue
		}
		rule, ok := fileRule(fields.Location, fields.Reservation, fields.Policy)
		if !ok {
			continue
		}
		if size += len(line(&rule)); len(rules) < contract.MaxTDMRules-2 && size <= maxRulesBytes {
			rules = append(rules, rule)
			continue
		}
		if rule.Reserved {
			return append(rules, all), nil
		}
	}
	return rules, nil
}

// fileRule returns a rule of a file. A location that is too long is cut if the rule reserves, since that reserves more.
func fileRule(location, reservation, policy any) (rule contract.TDMRule, ok bool) {
	rule.Source = contract.UsageFile
	switch reservation {
	case 1.0, "1":
		rule.Reserved = true
	case 0.0, "0":
	default:
		return rule, false
	}
	path, _ := location.(string)
	path = strings.TrimSpace(path)
	if path == "" || path[0] != '/' && path[0] != '*' ||
		strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }) {
		return rule, false
	}
	if len(path) > maxLocation {
		if !rule.Reserved {
			return rule, false
		}
		path = strings.TrimSuffix(strings.ToValidUTF8(path[:maxLocation], ""), "$")
	}
	rule.Location = path
	if text, _ := policy.(string); rule.Reserved {
		rule.Policy = policyURL(text)
	}
	return rule, true
}
