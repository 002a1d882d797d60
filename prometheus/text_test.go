package prometheus

import (
	"net/http/httptest"
	"testing"
)

func TestText(t *testing.T) {
	var text Text
	text.Family("queue_messages", "gauge", "Messages by queue.")
	text.Sample(12, "queue", "seed", "state", "a \"b\"\\\n")
	text.Sample(Flag(true))
	text.Sample(0.25)
	w := httptest.NewRecorder()
	text.WriteAnswer(w)
	const want = "# HELP queue_messages Messages by queue.\n# TYPE queue_messages gauge\n" +
		`queue_messages{queue="seed",state="a \"b\"\\\n"} 12` + "\nqueue_messages 1\nqueue_messages 0.25\n"
	if got := w.Body.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
