import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/** Where the sources are, and the files that are built from them. */
const FOLDER = 'src/studio'
const PAGE = `${FOLDER}/page.html`
const POLICY = `${FOLDER}/page-policy.ts`

export interface BuiltStudio {
  /** The page of `GET /`, with its script and style inside. */
  readonly html: string
  /** Its Content-Security-Policy, which lets in these two by their hashes, and nothing else. */
  readonly policy: string
}

/** Builds the studio. The same sources and the same esbuild give the same bytes. */
export async function buildStudio(root: string): Promise<BuiltStudio> {
  const [script, style] = await Promise.all([bundled(root, 'main.tsx'), bundled(root, 'style.css')])
  return { html: pageOf(script, style), policy: policyOf(script, style) }
}

/** Returns what the built files contain, by their paths. */
export async function studioFiles(root: string): Promise<Readonly<Record<string, string>>> {
  const { html, policy } = await buildStudio(root)
  return { [PAGE]: html, [POLICY]: moduleOf(policy) }
}

/** Writes the files that the edge imports. */
export async function writeStudio(root: string): Promise<void> {
  for (const [path, content] of Object.entries(await studioFiles(root))) {
    writeFileSync(join(root, path), content)
    process.stdout.write(`${path} is written\n`)
  }
}

async function bundled(root: string, entry: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, FOLDER, entry)],
    bundle: true,
    write: false,
    minify: true,
    charset: 'utf8',
    format: 'esm',
    target: ['chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
  })
  const text = outputFiles.map((file) => file.text).join('')
  // Neither can end the element that holds it.
  return text.trim().replaceAll('</script', '<\\/script').replaceAll('</style', '<\\/style')
}

function pageOf(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Edgecall studio</title>
<style>${style}</style>
<noscript>The studio needs JavaScript.</noscript>
<script type="module">${script}</script>
</html>
`
}

/**
 * Nothing from elsewhere, no script or style but those of the page, and with Trusted Types no way for a script to turn
 * text into markup.
 */
function policyOf(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

function moduleOf(policy: string): string {
  return `/** The Content-Security-Policy of page.html. Written by \`npm run studio\`. */
export const PAGE_POLICY =
  ${JSON.stringify(policy)}
`
}
