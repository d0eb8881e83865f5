/** Wrangler bundles a page as its text. */
declare module '*.html' {
  const page: string
  export default page
}
