/**
 * studio/: the page of `GET /`, an app that speaks to the edge over its HTTP API. `npm run studio` builds it into
 * page.html, which the edge serves. Runs in browsers; what models, tools and definitions say becomes text, never markup.
 */
import { render } from 'preact'
import { App } from './app.tsx'
import { followAddress } from './route.ts'
import { followTheme } from './theme.ts'

followAddress()
followTheme()
render(<App />, document.body)
