/** Returns the command that posts a body to a path of this edge. */
export function curl(path: string, body: object): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''")
  return `curl '${location.origin}${path}' -H 'content-type: application/json' -H "authorization: Bearer $KEY" -d '${text}'`
}
