import { PLATFORM_LIMITS } from '../../contract/platform.ts'
import { markdownTable } from './table.ts'

const HEAD = ['What Cloudflare limits', 'Its limit', 'What the edge does', 'What `--plan` does', 'Confirmed']

/** Returns docs/limits.md with the table of the limits of the platform as the code has it. */
export function withPlatformLimits(page: string): string {
  const rows = Object.values(PLATFORM_LIMITS).map(({ limited, allowed, here, beyond, source, confirmed }) => {
    const link = `[${confirmed}](https://developers.cloudflare.com/${source})`
    return [limited, allowed, here, beyond, link]
  })
  return page.replace(/(?<=## Limits of the platform\n\n)(?:\|.*\n)*/, markdownTable([HEAD, ...rows]))
}
