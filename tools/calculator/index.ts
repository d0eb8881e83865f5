import { serveTools } from '../../src/tool.ts'
import { calculate, squareRoot } from './tools.ts'

export default serveTools(calculate, squareRoot)
