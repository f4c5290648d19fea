package notify

import (
	"encoding/json"
	"strings"

	"dealhouse/internal/receiver"
)

// escape returns the function that makes plain text in the form of a text that is not the template author's own
// (notify-7). Mail and Teams are given plain text, and JSON is written by an encoder.
func (t *target) escape() func(string) string {
	if t.Form == receiver.Slack {
		return escapeSlack
	}
	return func(text string) string { return text }
}

// slackText keeps a text from being read as markup: by Slack, and by other programs that take messages of this form,
// where @channel alone calls everybody. The word joiner is invisible.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u2060")

func escapeSlack(text string) string { return slackText.Replace(text) }

// payload returns the body of a request.
func (t *target) payload(m Message) (body []byte, problem error) {
	link := m.Link
	if t.Form == receiver.Slack && t.text == nil && link != "" {
		m.Link = "<" + link + ">" // nothing else there becomes a link
	}
	text, problem := t.render(m)
	var value any
	switch t.Form {
	case receiver.Slack:
		// Nothing becomes a link or a mention by itself, and only what a template writes is markup.
		value = map[string]any{"text": text, "mrkdwn": t.text != nil, "parse": "none", "link_names": false,
			"unfurl_links": false, "unfurl_media": false}
	case receiver.Teams:
		value = teamsCard(text)
	default:
		if t.text != nil && problem == nil {
			return []byte(text), nil
		}
		value = map[string]any{
			"id": m.ID, "receiver": m.Receiver, "event": m.Event, "account": m.Account,
			"streams": append([]string{}, m.Streams...),
			"title":   m.Title, "text": m.Text, "link": link, "at": m.At.Format("2006-01-02T15:04:05.000Z"), "attempt": m.Attempt,
		}
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return body, problem
}

// teamsCard returns an adaptive card, as the workflows of Teams take it. Text runs, unlike text blocks,
// ignore markdown.
func teamsCard(text string) any {
	var blocks []any
	for i, l := range strings.Split(text, "\n") {
		run := map[string]any{"type": "TextRun", "text": l}
		if i == 0 {
			run["weight"], run["size"] = "Bolder", "Medium"
		}
		blocks = append(blocks, map[string]any{"type": "RichTextBlock", "inlines": []any{run}})
	}
	card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
		"version": "1.4", "body": blocks}
	return map[string]any{
		"type": "message",
		"attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil,
			"content": card}},
	}
}
