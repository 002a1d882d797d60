// Takes what arrives on a queue and keeps it: the messages wait here as they would on the platform,
// until the test has them delivered. GET / tells them.
const caught = [];

export default {
  fetch: () => Response.json(caught),
  queue(batch) {
    for (const { id, body } of batch.messages) caught.push({ id, body });
  },
};
