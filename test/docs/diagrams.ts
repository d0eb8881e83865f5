/**
 * The second part of `npm run pictures`: draws the diagrams of docs/ for its site, with Mermaid in Chromium. Mermaid, which
 * is large and needed here only, is fetched from the registry.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { diagramFile } from '../../docs/.vitepress/site.mts'
import { launchChromium } from '../fixtures/chromium.ts'
import { pages, ROOT } from './pages.ts'

const MERMAID = 'mermaid@11.17.2'
const PICTURES = `${ROOT}docs/pictures`

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'edgecall-diagrams-'))
const browser = await launchChromium()
try {
  const { stdout } = await run('npm', ['pack', MERMAID, '--silent', '--pack-destination', folder])
  await run('tar', ['xzf', join(folder, stdout.trim()), '-C', folder, 'package/dist/mermaid.min.js'])
  const page = await browser.newPage()
  await page.addScriptTag({ path: join(folder, 'package/dist/mermaid.min.js') })
  const diagrams = pages().flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'mermaid'))
  for (const name of readdirSync(PICTURES)) if (name.startsWith('diagram-')) rmSync(join(PICTURES, name))
  for (const { text } of diagrams) {
    const svg = await page.evaluate(async (source) => {
      const { mermaid } = globalThis as unknown as { mermaid: any }
      const look = { theme: 'neutral', htmlLabels: false, flowchart: { htmlLabels: false } }
      mermaid.initialize({ startOnLoad: false, deterministicIds: true, fontFamily: 'sans-serif', ...look })
      return (await mermaid.render('diagram', source)).svg as string
    }, text)
    // On a ground of its own, since the site may be dark.
    const path = join(PICTURES, diagramFile(text))
    writeFileSync(path, `${svg.replace(' style="', ' style="background: white; ')}\n`)
    console.log(path)
  }
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}
