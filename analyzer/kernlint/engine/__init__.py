"""The flow of docs/architecture.md over many files: discover, prefilter, lift, check, bind, suppress, select."""
