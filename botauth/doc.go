// Package botauth signs requests by Web Bot Auth, so that websites can verify which bot sent them: HTTP Message
// Signatures (RFC 9421) in the profile of draft-ietf-webbotauth-httpsig-protocol-01, with Ed25519 keys. It writes what
// is signed; the platform computes the signatures.
package botauth
