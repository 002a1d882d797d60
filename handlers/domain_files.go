package handlers

import (
	"errors"
	"io"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/r2"
)

// maxFileBytes caps files in answers: an instance holds its whole answer in memory.
const maxFileBytes = 8 << 20

// domainFile answers with a file that a collection stored beside a document, byte for byte.
func (a domainRoutes) domainFile(key func(contract.DomainDir) string, kind string) func(http.ResponseWriter,
	*http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		dir, err := a.domainDir(r)
		if err != nil {
			return err
		}
		body, err := a.Bucket.Get(r.Context(), key(dir))
		switch {
		case errors.Is(err, r2.ErrNotFound):
			return httpapi.NotFound("%s has no such file; see its document for the reason", dir.Domain)
		case err != nil:
			return contract.Wrap(contract.Storage, "handlers.domainFile", err)
		}
		defer body.Close()
		if body.Size > maxFileBytes {
			return httpapi.Errorf(http.StatusRequestEntityTooLarge, "too_large",
				"the file has %d bytes, more than %d; read the object %s from R2", body.Size, maxFileBytes, body.Key)
		}
		h := w.Header()
		tag := `"` + body.ETag + `"`
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache")
		// The content is another site's: browsers must not run it as one of our pages.
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "sandbox")
		if matchesTag(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		h.Set("Content-Type", kind)
		data, err := io.ReadAll(body)
		if err != nil {
			return contract.Wrap(contract.Storage, "handlers.domainFile", err)
		}
		w.WriteHeader(http.StatusOK)
		_, err = w.Write(data)
		return contract.Wrap(contract.Network, "handlers.domainFile", err)
	}
}

// domainDir returns the directory of the path's domain in the partition that the query names, or in the newest
// partition that it selects.
func (a domainRoutes) domainDir(r *http.Request) (contract.DomainDir, error) {
	q, f, err := readPartition(r)
	if err != nil {
		return contract.DomainDir{}, err
	}
	if q.err != nil {
		return contract.DomainDir{}, q.err
	}
	detail, err := a.locate(r, f)
	if err != nil {
		return contract.DomainDir{}, err
	}
	return contract.DomainDir{Partition: detail.Partition, Domain: detail.Domain}, nil
}
