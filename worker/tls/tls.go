// Package tls is what the Worker's program is compiled with in the place of Go's crypto/tls (see
// worker/build.mjs). The platform encrypts connections; a Worker never does. But net/http names
// crypto/tls, whose packages would be an eighth of the compressed program, most of it tables of elliptic
// curves. So here is what net/http names, and nothing of it works.
package tls

import (
	"context"
	"errors"
	"net"
)

var errNoTLS = errors.New("tls: the platform encrypts connections, not the program")

// What net/http checks for or asks for.
const (
	VersionTLS12 = 0x0303
	VersionTLS13 = 0x0304

	TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256   uint16 = 0xc02f
	TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 uint16 = 0xc02b
)

// Certificate is none.
type Certificate struct{}

// ClientHelloInfo is none.
type ClientHelloInfo struct{}

// Config configures nothing.
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

// ConnectionState is that of no connection.
type ConnectionState struct {
	CipherSuite                uint16
	HandshakeComplete          bool
	NegotiatedProtocol         string
	NegotiatedProtocolIsMutual bool
	ServerName                 string
	Version                    uint16
}

// Conn is a connection on which nothing is sent or received.
type Conn struct{ net.Conn }

// Client gives a Conn.
func Client(conn net.Conn, _ *Config) *Conn { return &Conn{conn} }

func (*Conn) ConnectionState() ConnectionState       { return ConnectionState{} }
func (*Conn) Handshake() error                       { return errNoTLS }
func (*Conn) HandshakeContext(context.Context) error { return errNoTLS }
func (*Conn) VerifyHostname(string) error            { return errNoTLS }
func (*Conn) Read([]byte) (int, error)               { return 0, errNoTLS }
func (*Conn) Write([]byte) (int, error)              { return 0, errNoTLS }

// NetConn gives what lies under c.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// NewListener gives a listener that accepts nobody.
func NewListener(inner net.Listener, _ *Config) net.Listener { return listener{inner} }

type listener struct{ net.Listener }

func (listener) Accept() (net.Conn, error) { return nil, errNoTLS }

// X509KeyPair gives an error.
func X509KeyPair(_, _ []byte) (Certificate, error) { return Certificate{}, errNoTLS }

// LoadX509KeyPair gives an error.
func LoadX509KeyPair(_, _ string) (Certificate, error) { return Certificate{}, errNoTLS }

// RecordHeaderError is never given.
type RecordHeaderError struct {
	Msg          string
	RecordHeader [5]byte
	Conn         net.Conn
}

func (e RecordHeaderError) Error() string { return "tls: " + e.Msg }
