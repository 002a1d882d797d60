//go:build unix

package infotest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// find returns a server's program: from PATH, or from Debian's directories.
func find(t *testing.T, name, pattern string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
		return paths[len(paths)-1]
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed: run make stores", name)
	}
	t.Skipf("%s is not installed: run make stores", name)
	return ""
}

// Server is a server with its own port and data directory.
type Server struct {
	Address string

	t       *testing.T
	dir     string
	command func() *exec.Cmd
	ready   func() error
	process *exec.Cmd // nil if stopped
	exited  chan struct{}
}

// Dial connects to the server.
func (s *Server) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// Start starts the server and waits until it answers. If it exits, it is started again: after a crash PostgreSQL
// refuses to start until its last child has exited.
func (s *Server) Start() {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.dir, "server.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if s.process == nil {
			s.launch(log)
		}
		err := s.ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			s.t.Fatalf("the server did not start: %v\n%s", err, text)
		}
		select {
		case <-s.exited:
			s.process = nil
		default:
		}
	}
}

func (s *Server) launch(log *os.File) {
	s.t.Helper()
	c := s.command()
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		c.Wait() // the exit status is irrelevant
		close(exited)
	}()
	s.process, s.exited = c, exited
}

// Kill crashes the server.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop stops the server.
func (s *Server) Stop() { s.end(syscall.SIGQUIT) }

// Freeze makes the server accept connections and data without an answer, until Thaw.
func (s *Server) Freeze() { s.process.Process.Signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() { s.process.Process.Signal(syscall.SIGCONT) }

func (s *Server) end(signal os.Signal) {
	if s.process != nil {
		s.process.Process.Signal(signal)
		s.Thaw() // a frozen server does not see the signal
		<-s.exited
		s.process = nil
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func newServer(t *testing.T, port int) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "newsfork-test-") // not t.TempDir, which other users cannot enter
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), t: t, dir: dir}
	t.Cleanup(func() {
		s.Stop()
		os.RemoveAll(dir)
	})
	return s
}

// Password is the password of PostgreSQL's user "newsfork".
const Password = "p@ss:word/1"

// Postgres starts a PostgreSQL server with an empty database and returns its connection string. Without PostgreSQL
// the test is skipped, or fails if CI=true.
func Postgres(t *testing.T) (*Server, string) {
	t.Helper()
	const debian = "/usr/lib/postgresql/*/bin/"
	initdb, program := find(t, "initdb", debian+"initdb"), find(t, "postgres", debian+"postgres")
	port := freePort(t)
	s := newServer(t, port)
	data := filepath.Join(s.dir, "data")
	secret := filepath.Join(s.dir, "password")
	credential := s.unprivileged()
	run := func(program string, args ...string) *exec.Cmd {
		c := exec.Command(program, args...)
		c.Dir = s.dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		return c
	}
	if err := os.WriteFile(secret, []byte(Password), 0o644); err != nil {
		t.Fatal(err)
	}
	// A locale that does not compare bytes, if there is one: ids and cursors must not depend on it.
	c := run(initdb, "-D", data, "-U", "newsfork", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8",
		"--locale-provider=icu", "--icu-locale=en", "--no-sync")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.command = func() *exec.Cmd {
		return run(program, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c",
			"unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=64MB")
	}
	s.ready = func() error {
		conn, err := net.DialTimeout("tcp", s.Address, time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		// A starting server answers a startup message with an error, a ready one with a request for the password.
		message := "\x00\x03\x00\x00user\x00newsfork\x00database\x00postgres\x00\x00"
		conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := conn.Write(append([]byte{0, 0, 0, byte(len(message) + 4)}, message...)); err != nil {
			return err
		}
		var kind [1]byte
		if _, err := conn.Read(kind[:]); err != nil {
			return err
		}
		if kind[0] != 'R' {
			return fmt.Errorf("it answers with %q", kind[0])
		}
		return nil
	}
	s.Start()
	return s, "postgres://newsfork:" + "p%40ss%3Aword%2F1" + "@" + s.Address + "/postgres"
}

// Redis starts an empty Redis server.
func Redis(t *testing.T) *Server {
	t.Helper()
	program := find(t, "redis-server", "/usr/bin/redis-server")
	port := freePort(t)
	s := newServer(t, port)
	s.command = func() *exec.Cmd {
		return exec.Command(program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", s.dir, "--save",
			"", "--appendonly", "no", "--requirepass", Password)
	}
	s.ready = func() error {
		conn, err := net.DialTimeout("tcp", s.Address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	}
	s.Start()
	return s
}

// unprivileged makes a user other than root the owner of the server's directory, as PostgreSQL requires. It returns
// nil if this user is not root.
func (s *Server) unprivileged() *syscall.Credential {
	s.t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(s.dir, uid, gid); err != nil {
			s.t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	s.t.Fatal("there is no user but root to run PostgreSQL")
	return nil
}
