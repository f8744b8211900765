/** Style sheets that scripts import are their text. */
declare module "*.css" {
  const text: string;
  export default text;
}
