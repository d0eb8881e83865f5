/** Wrangler bundles these files as text. The OpenAPI document is a `.txt`, as a `.json` would be bundled as code. */
declare module '*.html' {
  const page: string
  export default page
}

declare module '*.txt' {
  const text: string
  export default text
}
