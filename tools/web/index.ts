import { serveTools } from '../../src/tool.ts'
import { readPage, webSearch } from './tools.ts'

export default serveTools(webSearch, readPage)
