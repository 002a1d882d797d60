package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/fetch"
)

func keygenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keygen -o FILE",
		Short: "a key that signs the engine's requests",
		Args:  noArgs,
		Long: `Writes a new private Ed25519 key as JWK, readable only by you, and prints its id and the public
key. It never overwrites a file. docs/bot.md says how to use and register it.`,
		Example: `  seedctl keygen -o key.jwk
  npx wrangler secret put SIGNING_KEY --env production < key.jwk`,
	}
	file := cmd.Flags().StringP("output", "o", "", "`FILE` to create")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return usageError("name the file to create: -o key.jwk")
		}
		key, err := botauth.NewKey()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(*file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, key.JWK()+"\n"); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "key %s\n%s\n", key.ID, key.Public())
		return err
	}
	return cmd
}

func directoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "directory URL",
		Short: "check the published keys of a bot as a registrar does",
		Long: `Fetches the key directory of a host, and verifies its media type, its digest, and for each key
the proof that the host has the private one. URL is the value of SIGNATURE_AGENT.`,
		Example: `  seedctl directory https://bot.example.com
  seedctl directory --connect 127.0.0.1:8787 https://bot.example.com`,
	}
	address := cmd.Flags().String("connect", "", "ask the engine at `HOST:PORT` by http, as if the host were there")
	cmd.RunE = func(cmd *cobra.Command, targets []string) error {
		if len(targets) != 1 {
			return usageError("name one URL")
		}
		web := fetch.NewTransport()
		if *address != "" {
			web = connected(*address)
		}
		ids, err := checkDirectory(cmd, targets[0], web)
		for _, id := range ids {
			fmt.Fprintf(cmd.OutOrStdout(), "key %s: proof valid\n", id)
		}
		return err
	}
	return cmd
}

// maxDirectory caps a directory, in bytes.
const maxDirectory = 64 << 10

func checkDirectory(cmd *cobra.Command, target string, web fetch.Transport) ([]string, error) {
	if !strings.Contains(target, "://") {
		target = "https://" + target
	}
	u, err := fetch.Guard(target)
	if err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") == "" {
		u = u.ResolveReference(&url.URL{Path: botauth.DirectoryPath})
	}
	resp, err := web.Do(cmd.Context(), &fetch.Request{Method: "GET", URL: u.String(), Header: http.Header{},
		Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.Status != http.StatusOK {
		return nil, fmt.Errorf("%s has status %d; it must be 200, without a redirect", u, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDirectory+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxDirectory {
		return nil, fmt.Errorf("%s has more than %d bytes", u, maxDirectory)
	}
	return botauth.CheckDirectory(u.Host, resp.Header, body, time.Now())
}

// connected is the web of a host that is not public yet: the engine at an address.
type connected string

// Do implements fetch.Transport.
func (c connected) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Host, req.URL.Scheme, req.URL.Host = req.URL.Host, "http", string(c)
	client := http.Client{Timeout: r.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return &fetch.Response{Status: resp.StatusCode, Header: resp.Header, Body: resp.Body}, nil
}

// signingFlags are the flags of commands that sign their requests.
type signingFlags struct {
	key, agent *string
	dictionary *bool
}

func addSigningFlags(cmd *cobra.Command) signingFlags {
	flags := cmd.Flags()
	s := signingFlags{
		key:        flags.String("signing-key", "", "sign requests with the private key in `FILE`"),
		agent:      flags.String("signature-agent", "", "`URL` of the host that publishes the key"),
		dictionary: flags.Bool("dictionary", false, "send Signature-Agent as a dictionary"),
	}
	cobra.CheckErr(cmd.MarkFlagFilename("signing-key"))
	return s
}

// sign wraps a transport if a key is given.
func (s signingFlags) sign(web fetch.Transport) (fetch.Transport, error) {
	if *s.key == "" && *s.agent == "" {
		return web, nil
	}
	if *s.key == "" || *s.agent == "" {
		return nil, usageError("--signing-key and --signature-agent go together")
	}
	text, err := os.ReadFile(*s.key)
	if err != nil {
		return nil, err
	}
	keys, err := botauth.ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", *s.key, err)
	}
	form := botauth.String
	if *s.dictionary {
		form = botauth.Dictionary
	}
	signer := &botauth.Signer{Keys: keys, Agent: *s.agent, Form: form, Sign: botauth.Native, Now: time.Now}
	return &fetch.Signed{Transport: web, Signer: signer, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}, nil
}
