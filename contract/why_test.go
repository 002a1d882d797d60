package contract

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestWhyCodes: openapi.json lists all codes.
func TestWhyCodes(t *testing.T) {
	var spec struct {
		Components struct {
			Schemas struct {
				FrontierURL struct {
					Properties struct {
						WhyCode struct{ Enum []WhyCode } `json:"why_code"`
					}
				}
			}
		}
	}
	err := json.Unmarshal(OpenAPI, &spec)
	if got := spec.Components.Schemas.FrontierURL.Properties.WhyCode.Enum; err != nil || !slices.Equal(got, WhyCodes) {
		t.Errorf("%v\n%q, want\n%q", err, got, WhyCodes)
	}
}
