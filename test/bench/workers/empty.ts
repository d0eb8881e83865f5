/** The least that a Worker can be. */
export default { fetch: () => new Response('') }
