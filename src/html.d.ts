/** Wrangler bundles a page as its text; and a `.txt`, whatever it holds: the JSON of `openapi.txt` would be code. */
declare module '*.html' {
  const page: string
  export default page
}

declare module '*.txt' {
  const text: string
  export default text
}
