package postgres

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/newsfork/seed-engine/info/connection"
)

// maxMessage caps messages, in bytes; rows are smaller.
const maxMessage = 16 << 20

// maxIterations caps the work that a server can demand from a client.
const maxIterations = 1_000_000

// connect opens a connection and signs in.
func (d *DB) connect(ctx context.Context) (*link, error) {
	limit := cmp.Or(d.ConnectTimeout, 10*time.Second)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := d.dial(ctx, d.config.address)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	l := &link{conn, pgproto3.NewFrontend(conn, conn)}
	l.wire.SetMaxBodyLen(maxMessage)
	if err = conn.SetDeadline(connection.Deadline(ctx, limit)); err == nil {
		err = d.signIn(l)
	}
	if err != nil {
		l.Close()
		return nil, cmp.Or(ctx.Err(), err)
	}
	return l, nil
}

func (d *DB) signIn(l *link) error {
	l.wire.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{
		"user": d.config.user, "database": d.config.database, "client_encoding": "UTF8",
	}})
	if err := l.wire.Flush(); err != nil {
		return err
	}
	var s *scram
	for {
		m, err := l.wire.Receive()
		if err != nil {
			return err
		}
		var answer pgproto3.FrontendMessage
		switch m := m.(type) {
		case *pgproto3.AuthenticationCleartextPassword:
			answer = &pgproto3.PasswordMessage{Password: d.config.password}
		case *pgproto3.AuthenticationMD5Password:
			answer = &pgproto3.PasswordMessage{Password: "md5" +
				hexMD5(hexMD5(d.config.password+d.config.user)+string(m.Salt[:]))}
		case *pgproto3.AuthenticationSASL:
			if !slices.Contains(m.AuthMechanisms, scramMechanism) {
				return errors.New("postgres: the server offers no supported authentication")
			}
			s = newScram(d.config.password)
			answer = &pgproto3.SASLInitialResponse{AuthMechanism: scramMechanism, Data: []byte(s.first())}
		case *pgproto3.AuthenticationSASLContinue:
			final, err := s.final(string(m.Data))
			if err != nil {
				return err
			}
			answer = &pgproto3.SASLResponse{Data: []byte(final)}
		case *pgproto3.AuthenticationSASLFinal:
			if err := s.verify(string(m.Data)); err != nil {
				return err
			}
		case *pgproto3.ErrorResponse:
			return &Error{Code: m.Code, Message: m.Message, fatal: true}
		case *pgproto3.ReadyForQuery:
			return nil
		}
		if answer != nil {
			l.wire.Send(answer)
			if err := l.wire.Flush(); err != nil {
				return err
			}
		}
	}
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

const scramMechanism = "SCRAM-SHA-256"

// scram is an exchange of SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding. PostgreSQL takes the user
// from the startup message, so it is empty here.
type scram struct {
	password  string
	nonce     string
	bare      string // the client's first message
	signature []byte // expected from the server
}

func newScram(password string) *scram {
	var b [18]byte
	rand.Read(b[:])
	nonce := base64.StdEncoding.EncodeToString(b[:])
	return &scram{password: password, nonce: nonce, bare: "n=,r=" + nonce}
}

func (s *scram) first() string { return "n,," + s.bare }

var errScram = errors.New("postgres: the server's SCRAM messages are invalid")

func (s *scram) final(challenge string) (string, error) {
	if s == nil {
		return "", errScram
	}
	fields := map[string]string{}
	for f := range strings.SplitSeq(challenge, ",") {
		name, value, _ := strings.Cut(f, "=")
		fields[name] = value
	}
	salt, err := base64.StdEncoding.DecodeString(fields["s"])
	iterations, err2 := strconv.Atoi(fields["i"])
	if err != nil || err2 != nil || iterations < 1 || iterations > maxIterations ||
		!strings.HasPrefix(fields["r"], s.nonce) || fields["r"] == s.nonce {
		return "", errScram
	}
	salted, err := pbkdf2.Key(sha256.New, s.password, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	without := "c=" + base64.StdEncoding.EncodeToString([]byte("n,,")) + ",r=" + fields["r"]
	message := s.bare + "," + challenge + "," + without
	key := sum(salted, "Client Key")
	stored := sha256.Sum256(key)
	proof := sum(stored[:], message)
	for i := range proof {
		proof[i] ^= key[i]
	}
	s.signature = sum(sum(salted, "Server Key"), message)
	return without + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
}

func (s *scram) verify(answer string) error {
	signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(answer, "v="))
	if s == nil || s.signature == nil || err != nil || !hmac.Equal(signature, s.signature) {
		return errScram
	}
	return nil
}

func sum(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}
