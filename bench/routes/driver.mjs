// GET /?side=…&path=…&n=… asks a side for a path n times, one after the other, from inside workerd: the milliseconds
// that took.
export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const [side, path, n] = ["side", "path", "n"].map((name) => searchParams.get(name));
    const began = Date.now();
    for (let i = 0; i < n; i++) {
      const answer = await env[side].fetch(`https://${side}.example${path}`);
      if (answer.status !== 200) return new Response(await answer.text(), { status: 500 });
      await answer.arrayBuffer();
    }
    return Response.json(Date.now() - began);
  },
};
