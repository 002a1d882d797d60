// Readers and operators ask different ports of one machine (dev.mjs), which both lead here.
export default {
  fetch(request, env) {
    const operator = request.headers.get("host")?.endsWith(`:${env.OPERATORS}`);
    return (operator ? env.COLLECTOR : env.API).fetch(request);
  },
};
