// Package tls replaces Go's crypto/tls when the Worker is compiled (see worker/build.mjs). The platform
// encrypts connections, so a Worker never does. net/http imports crypto/tls, which would be a tenth
// of the program, mostly tables of elliptic curves. This package declares only the names
// that net/http uses; calling them fails.
package tls

import (
	"context"
	"errors"
	"net"
)

var errNoTLS = errors.New("tls: the platform encrypts connections, not the program")

// Constants that net/http names.
const (
	VersionTLS12 = 0x0303
	VersionTLS13 = 0x0304

	TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256   uint16 = 0xc02f
	TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 uint16 = 0xc02b
)

// Certificate is empty.
type Certificate struct{}

// ClientHelloInfo is empty.
type ClientHelloInfo struct{}

// Config is ignored.
type Config struct {
	Certificates             []Certificate
	CipherSuites             []uint16
	GetCertificate           func(*ClientHelloInfo) (*Certificate, error)
	GetConfigForClient       func(*ClientHelloInfo) (*Config, error)
	InsecureSkipVerify       bool
	MinVersion               uint16
	NextProtos               []string
	PreferServerCipherSuites bool
	ServerName               string
}

// Clone copies c.
func (c *Config) Clone() *Config {
	if c == nil {
		return nil
	}
	clone := *c
	return &clone
}

// ConnectionState is always zero.
type ConnectionState struct {
	CipherSuite                uint16
	HandshakeComplete          bool
	NegotiatedProtocol         string
	NegotiatedProtocolIsMutual bool
	ServerName                 string
	Version                    uint16
}

// Conn is a connection whose reads and writes fail.
type Conn struct{ net.Conn }

// Client returns a Conn.
func Client(conn net.Conn, _ *Config) *Conn { return &Conn{conn} }

func (*Conn) ConnectionState() ConnectionState       { return ConnectionState{} }
func (*Conn) Handshake() error                       { return errNoTLS }
func (*Conn) HandshakeContext(context.Context) error { return errNoTLS }
func (*Conn) VerifyHostname(string) error            { return errNoTLS }
func (*Conn) Read([]byte) (int, error)               { return 0, errNoTLS }
func (*Conn) Write([]byte) (int, error)              { return 0, errNoTLS }

// NetConn returns the underlying connection.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// NewListener returns a listener that accepts nothing.
func NewListener(inner net.Listener, _ *Config) net.Listener { return listener{inner} }

type listener struct{ net.Listener }

func (listener) Accept() (net.Conn, error) { return nil, errNoTLS }

// X509KeyPair returns an error.
func X509KeyPair(_, _ []byte) (Certificate, error) { return Certificate{}, errNoTLS }

// LoadX509KeyPair returns an error.
func LoadX509KeyPair(_, _ string) (Certificate, error) { return Certificate{}, errNoTLS }

// RecordHeaderError is never returned.
type RecordHeaderError struct {
	Msg          string
	RecordHeader [5]byte
	Conn         net.Conn
}

func (e RecordHeaderError) Error() string { return "tls: " + e.Msg }
