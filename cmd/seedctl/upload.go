package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

// rawUpload is one file to upload.
type rawUpload struct {
	path      string
	size      int64
	md5       string // of the content, in hexadecimal; "" before it is needed
	partition contract.Partition
	name      string // raw_NNNN, or "" for the next that is free
	sameAs    string // another file of the partition with the same content, if it was stored nevertheless
}

// uploaded is the --json form of its outcome.
type uploaded struct {
	File  string `json:"file"`
	Key   string `json:"key"`
	Size  int64  `json:"size"`
	State string `json:"state"`
	// SameAs is another file of the partition with the same content, beside which this one was stored.
	SameAs string        `json:"same_as,omitempty"`
	Error  *client.Error `json:"error"`
}

// The states of an upload.
const (
	stored   = "stored"
	replaced = "replaced"
	exists   = "exists" // before, with the same content
	failed   = "failed"

	// An operator discarded it, and nothing will process it: there with the same content, and not to be replaced.
	discardedFile = "discarded"
)

func uploadCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "upload [flags] FILE|DIRECTORY…",
		ValidArgsFunction: files,
		Short:             "store raw files in the engine's bucket",
		Long: `Stores every FILE, and of every DIRECTORY and those below it the files called raw_NNNN.json. The
partition comes from --country, --category and --date; what they do not say is read from the path:
…/country=sg/category=news/date=2026-01-28/raw_0001.json. The number is --chunk, else that of the
name, else the next one that is free, which --next takes for all files.

One that is there already with the same content is left alone, so that an interrupted upload can be
repeated; where the number is free to choose, also one that its partition has under any number. With
another content it is a failure, unless --replace stores the new one in its place. That is possible
as long as it was not processed, and ends the old one, discarded or not: with the same content it
revives a discarded one, which else is left alone and says so. Nothing is sent before all the files
have been looked at.

With --json each line is a file {"file", "key", "size", "state": "stored", "replaced", "exists",
"discarded" or "failed", "same_as"?, "error": {"code", "message", "field"?} or null}, followed with
--orchestrate by a line for each partition {"partition_info", "files_found", "sent", "skipped", …}.`,
		Example: `  seedctl upload --orchestrate raw/country=sg/category=news/date=2026-01-28
  seedctl upload --country sg --category news --date 2026-01-28 export.json`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	chunk := r.flags.String("chunk", "", "`NUMBER` of the one file: 1 is 0001")
	next := r.flags.Bool("next", false, "take the next free number, whatever the files are called")
	replace := r.flags.Bool("replace", false, "store in place of files that are there and not processed")
	queue := r.flags.Bool("orchestrate", false, "then queue what is not finished in their partitions")
	return r.command(func(ctx context.Context, args []string) error {
		if len(args) == 0 {
			return usageError("name raw files or directories")
		}
		if *next && *chunk != "" {
			return usageError("--next and --chunk exclude each other")
		}
		files, err := findRaw(args, p, *chunk, *next)
		if err != nil {
			return err
		}
		u := &uploader{remote: r, replace: *replace, there: map[contract.Partition]map[string]storedFile{}}
		for _, f := range files {
			u.total += f.size
		}
		ready, uploadErr := u.all(ctx, files)
		r.progress.clear()
		if uploadErr != nil && !errors.Is(uploadErr, errReported) {
			return uploadErr
		}
		for _, p := range ready {
			if !*queue {
				break
			}
			result, err := r.orchestrate(ctx, contract.Filter{Country: p.Country, Category: p.Category, Date: p.Date})
			if err != nil {
				return err
			}
			if err := r.show(struct {
				Partition contract.Partition `json:"partition_info"`
				orchestrator.Result
			}{p, result}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: %s\n", partitionText(&p), orchestratedText(result))
				return err
			}); err != nil {
				return err
			}
			r.sayWhyNothingMoves(ctx, p, result)
		}
		return uploadErr
	})
}

// findRaw looks at everything that is to be uploaded. given is what flags say of the partition.
func findRaw(args []string, given contract.Partition, chunk string, next bool) ([]rawUpload, error) {
	var files []rawUpload
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-":
			return nil, usageError("standard input has no length to announce; name a file")
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, rawUpload{path: arg})
			continue
		}
		found := false
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && rawName(path) != "" {
				found = true
				files = append(files, rawUpload{path: path})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("%s holds no files called raw_NNNN.json", arg)
		}
	}
	if chunk != "" && len(files) != 1 {
		return nil, usageError("--chunk is for one file")
	}
	keys := map[string]string{} // path of the file that takes each
	for i := range files {
		f := &files[i]
		if err := f.look(given); err != nil {
			return nil, err
		}
		switch {
		case chunk != "":
			var ok bool
			if f.name, ok = chunkName(chunk); !ok {
				return nil, usageError(fmt.Sprintf("--chunk %q is no number of up to twelve digits, such as 1 or 0001",
					chunk))
			}
		case !next:
			f.name = rawName(f.path)
		}
		if f.name == "" {
			continue
		}
		if other, twice := keys[f.key()]; twice {
			return nil, usageError(fmt.Sprintf("%s and %s are both %s; --next gives them new numbers", other, f.path,
				f.key()))
		}
		keys[f.key()] = f.path
	}
	// Those with a number of their own first, so that no other takes it.
	named := slices.DeleteFunc(slices.Clone(files), func(f rawUpload) bool { return f.name == "" })
	unnamed := slices.DeleteFunc(files, func(f rawUpload) bool { return f.name != "" })
	return append(named, unnamed...), nil
}

// chunkName returns raw_NNNN for a number as people type it: 1, 0001, raw_0001 and raw_0001.json are raw_0001.
func chunkName(number string) (name string, ok bool) {
	digits := contract.RawNumber(strings.TrimSuffix(number, ".json"))
	if missing := 4 - len(digits); missing > 0 && digits != "" {
		digits = strings.Repeat("0", missing) + digits
	}
	return contract.RawName(digits), contract.IsRawNumber(digits)
}

// rawName returns raw_NNNN for a path that ends in raw_NNNN.json, else "".
func rawName(path string) string {
	name, isJSON := strings.CutSuffix(filepath.Base(path), ".json")
	if !isJSON || !contract.IsRawName(name) {
		return ""
	}
	return name
}

// key returns the file's key, or "" before it has a number.
func (f *rawUpload) key() string {
	if f.name == "" {
		return ""
	}
	return contract.RawFile{Partition: f.partition, Name: f.name}.Key()
}

// look finds the size and the partition, and refuses what cannot be a raw file: it could not be
// replaced afterwards.
func (f *rawUpload) look(given contract.Partition) error {
	path, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	f.partition = given
	for _, part := range strings.Split(filepath.ToSlash(path), "/") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case name == "country" && given.Country == "":
			f.partition.Country = value
		case name == "category" && given.Category == "":
			f.partition.Category = value
		case name == "date" && given.Date == "":
			f.partition.Date = value
		}
	}
	var flags, parts []string
	for _, part := range [...]struct{ name, value string }{{"country", f.partition.Country},
		{"category", f.partition.Category}, {"date", f.partition.Date}} {
		if part.value == "" {
			flags, parts = append(flags, "--"+part.name), append(parts, part.name+"=…")
		}
	}
	if len(flags) > 0 {
		return usageError(fmt.Sprintf("%s: give %s, since its path has no %s", f.path, enumerate(flags, "and"),
			enumerate(parts, "or")))
	}
	if err := f.partition.Validate("--"); err != nil {
		return usageError(fmt.Sprintf("%s: %v", f.path, err))
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait
		return fmt.Errorf("%s is no regular file", f.path)
	}
	f.size = info.Size()
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	start := bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(start) == 0 || start[0] != '[' && start[0] != '{' {
		return fmt.Errorf("%s is no raw file: it does not begin with a JSON array or object", f.path)
	}
	return nil
}

// uploader uploads files one after another.
type uploader struct {
	*remote
	replace bool
	there   map[contract.Partition]map[string]storedFile // the raw files, by name
	total   int64                                        // bytes of all files
	sent    int64                                        // bytes of those that are finished
	label   string                                       // the file being sent
}

// storedFile is a raw file that the engine has.
type storedFile struct {
	Chunk string  `json:"chunk"`
	Size  int64   `json:"size"`
	MD5   *string `json:"md5"` // nil where the store has none
	State string  `json:"state"`

	own *rawUpload // if this run has stored it
}

// is reports whether a file has the content of the stored one. Where the store has no digest their size decides.
func (s storedFile) is(f *rawUpload) (bool, error) {
	if s.Size != f.size || s.MD5 == nil {
		return s.Size == f.size, nil
	}
	err := f.digest()
	return f.md5 == *s.MD5, err
}

// digest computes the file's MD5 once.
func (f *rawUpload) digest() error {
	if f.md5 != "" {
		return nil
	}
	file, err := os.Open(f.path)
	if err != nil {
		return unreadable(err)
	}
	defer file.Close()
	sum := md5.New()
	if _, err := io.Copy(sum, file); err != nil {
		return unreadable(err)
	}
	f.md5 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// all uploads files and gives the partitions that they are in. It goes on after a file that is
// refused, and stops where the engine cannot be reached.
func (u *uploader) all(ctx context.Context, files []rawUpload) (ready []contract.Partition, err error) {
	var result error
	for i := range files {
		f := &files[i]
		u.label = fmt.Sprintf("%s  (%d of %d)", plain(filepath.Base(f.path)), i+1, len(files))
		state, err := u.one(ctx, f)
		u.sent += f.size
		outcome := uploaded{File: f.path, Key: f.key(), Size: f.size, State: state, SameAs: f.sameAs}
		switch {
		case err == nil:
			if !slices.Contains(ready, f.partition) {
				ready = append(ready, f.partition)
			}
		case errors.As(err, &outcome.Error) && exitCode(outcome.Error) == exitFailed:
			u.complain("%s: %v", f.path, err)
			outcome.State, result = failed, errReported
		default:
			u.complain("%d of %s done", i, count(len(files), "file"))
			return nil, err
		}
		u.progress.clear()
		if err := u.show(outcome, func(w io.Writer) error {
			advice := ""
			if state == discardedFile {
				advice = ": it will not be processed; --replace revives it"
			}
			if f.sameAs != "" {
				advice = ": the partition has these bytes as " + plain(f.sameAs) + " too"
			}
			_, err := fmt.Fprintf(w, "%-6s  %s  %s  %s%s\n", outcome.State, plain(outcome.Key), bytesText(f.size),
				plain(f.path), advice)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return ready, result
}

// one uploads a file and returns its state. If the number is taken, the listing shows whether by the same file.
func (u *uploader) one(ctx context.Context, f *rawUpload) (state string, err error) {
	anyNumber := f.name == ""
	there, err := u.list(ctx, f.partition, false)
	for try := 0; err == nil; try++ {
		if anyNumber {
			if f.name, err = f.copyIn(there, ""); err != nil || f.name != "" {
				return exists, err
			}
			f.name = nextName(there)
		}
		state = stored
		if old, taken := there[f.name]; taken {
			switch same, err := old.is(f); {
			case err != nil:
				return "", err
			case same && old.State == contract.DiscardedFile && !u.replace:
				return discardedFile, nil
			case same && old.State != contract.DiscardedFile:
				return exists, nil
			case !same && !u.replace:
				return "", f.conflict(old)
			}
			state = replaced
		}
		if !anyNumber {
			if f.sameAs, err = f.copyIn(there, f.name); err != nil {
				return "", err
			}
		}
		unsure, putErr := u.put(ctx, f, state == replaced)
		var answer *client.Error
		if putErr == nil {
			there[f.name] = storedFile{Chunk: f.name, Size: f.size, own: f}
			return state, nil
		}
		if !errors.As(putErr, &answer) || answer.Status != http.StatusConflict || answer.Code == "already_processed" ||
			try == 9 {
			return "", putErr
		}
		// Another upload was faster, unless an attempt whose answer got lost was our own.
		there, err = u.list(ctx, f.partition, true)
		now, taken := there[f.name]
		if unsure && taken {
			if same, err := now.is(f); err != nil || same {
				return state, err
			}
		}
		if err == nil && !taken {
			return "", putErr // neither to be stored nor to be seen
		}
	}
	return "", err
}

// copyIn returns the name of a stored file of the partition, but for own, that has the same content, or "". A discarded
// one does not count, and the store must have its digest.
func (f *rawUpload) copyIn(there map[string]storedFile, own string) (name string, err error) {
	for _, other := range slices.Sorted(maps.Keys(there)) {
		if other == own {
			continue
		}
		s := there[other]
		if s.own != nil && s.Size == f.size {
			if err := s.own.digest(); err != nil {
				return "", err
			}
			s.MD5 = &s.own.md5
		}
		if s.MD5 == nil || s.State == contract.DiscardedFile {
			continue
		}
		if same, err := s.is(f); err != nil || same {
			return other, err
		}
	}
	return "", nil
}

// enumerate joins words as people do: a, b and c.
func enumerate(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// conflict is the error for a file whose number has another content, with the ways out that there are.
func (f *rawUpload) conflict(old storedFile) error {
	advice := "; --next takes the next free number"
	if old.State == "processed" {
		advice = ", and was processed" + advice
	} else {
		advice += ", --replace stores this one in its place"
	}
	return &client.Error{Code: "already_exists", Message: f.key() + " is there with another content" + advice}
}

// put sends a file until there is an answer. unsure: an attempt that got lost may have stored it.
func (u *uploader) put(ctx context.Context, f *rawUpload, replace bool) (unsure bool, err error) {
	p := f.partition
	rq := client.Request{Method: "PUT", Path: []string{"datasets", p.Country, p.Category, p.Date, f.name}}
	if replace {
		rq.Query = queryOf("replace", "true")
	}
	lost := false
	err = u.Repeat(ctx, false, func() error {
		unsure = unsure || lost
		lost = true
		file, err := os.Open(f.path)
		if err != nil {
			return unreadable(err)
		}
		defer file.Close()
		_, err = u.Send(ctx, rq, &counted{Reader: io.LimitReader(file, f.size), uploader: u}, f.size)
		if info, statErr := file.Stat(); statErr != nil {
			return unreadable(statErr)
		} else if info.Size() != f.size {
			return &client.Error{Code: "file_changed",
				Message: fmt.Sprintf("had %d bytes and has %d now; what is stored of it, if anything, is the beginning",
					f.size,
					info.Size())}
		}
		return err
	})
	return unsure, err
}

func unreadable(err error) error { return &client.Error{Code: "unreadable", Message: err.Error()} }

// list returns the raw files of a partition by name, from the last listing unless refresh is set.
func (u *uploader) list(ctx context.Context, p contract.Partition, refresh bool) (map[string]storedFile, error) {
	if there, ok := u.there[p]; ok && !refresh {
		return there, nil
	}
	there := map[string]storedFile{}
	err := eachFile(ctx, u.remote, p, func(f storedFile) error { there[f.Chunk] = f; return nil })
	if err == nil {
		u.there[p] = there
	}
	return there, err
}

// eachFile calls see for the raw files of a partition, in the order of their numbers.
func eachFile[File any](ctx context.Context, r *remote, p contract.Partition, see func(File) error) error {
	type filePage struct {
		Files  []File  `json:"files"`
		Cursor *string `json:"cursor"`
	}
	return eachPage(ctx, r, []string{"datasets", p.Country, p.Category, p.Date}, url.Values{},
		func(page *filePage) (*string, error) {
			for _, f := range page.Files {
				if err := see(f); err != nil {
					return nil, err
				}
			}
			return page.Cursor, nil
		})
}

// nextName is the number after the highest.
func nextName(there map[string]storedFile) string {
	highest := int64(0)
	for name := range there {
		if n, err := strconv.ParseInt(contract.RawNumber(name), 10, 64); err == nil {
			highest = max(highest, n)
		}
	}
	return contract.RawName(fmt.Sprintf("%04d", highest+1))
}

// counted shows the progress of a file while it is read.
type counted struct {
	io.Reader
	uploader *uploader
	read     int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	u := c.uploader
	done := u.sent + c.read
	u.progress.update(float64(done)/float64(u.total),
		fmt.Sprintf("%s of %s  %s", bytesText(done), bytesText(u.total), u.label))
	return n, err
}

func bytesText(n int64) string {
	switch {
	case n < 1000:
		return count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
