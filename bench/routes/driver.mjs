// GET /?side=…&path=…&n=… requests a path from a side n times in sequence from inside workerd, and answers with the
// milliseconds taken.
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
