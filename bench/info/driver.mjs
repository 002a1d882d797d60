// Requests a page from one side many times in a row, without a network, and answers with the
// milliseconds taken. The clock stands still while code runs, and is correct after each response.
export default {
  async fetch(request, env) {
    const { side, path, times } = await request.json();
    const began = Date.now();
    let last;
    for (let i = 0; i < times; i++) {
      const answer = await env[side].fetch(`https://info.example${path}`);
      if (answer.status !== 200) return answer;
      last = await answer.text();
    }
    const ms = Date.now() - began;
    return Response.json({ ms, page: JSON.parse(last) });
  },
};
