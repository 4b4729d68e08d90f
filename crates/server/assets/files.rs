// Made by `cargo xtask web`.
[
    File { name: "assets/dist.js", hash: "689b453f0fd7ae5c", gzip: include_bytes!("dist.js.gz"), plain: OnceLock::new() },
    File { name: "assets/fraunces-latin-600-normal.woff2", hash: "6cc06efec0fff4e7", gzip: include_bytes!("fraunces-latin-600-normal.woff2.gz"), plain: OnceLock::new() },
    File { name: "assets/icon.svg", hash: "4e4dc89089412d1c", gzip: include_bytes!("icon.svg.gz"), plain: OnceLock::new() },
    File { name: "assets/index.css", hash: "025a10deb067a74d", gzip: include_bytes!("index.css.gz"), plain: OnceLock::new() },
    File { name: "assets/index.js", hash: "c664a8a8ebfaeee9", gzip: include_bytes!("index.js.gz"), plain: OnceLock::new() },
    File { name: "assets/inter-latin-400-normal.woff2", hash: "4b6c1b3610d6f6ca", gzip: include_bytes!("inter-latin-400-normal.woff2.gz"), plain: OnceLock::new() },
    File { name: "assets/inter-latin-600-normal.woff2", hash: "7d1172902bbcc2a3", gzip: include_bytes!("inter-latin-600-normal.woff2.gz"), plain: OnceLock::new() },
    File { name: "assets/licences.txt", hash: "c902c2d570035144", gzip: include_bytes!("licences.txt.gz"), plain: OnceLock::new() },
    File { name: "assets/scene.css", hash: "98a2cd34aed85838", gzip: include_bytes!("scene.css.gz"), plain: OnceLock::new() },
    File { name: "assets/scene.js", hash: "9fd137b16a65ed30", gzip: include_bytes!("scene.js.gz"), plain: OnceLock::new() },
    File { name: "assets/session_page.js", hash: "28e99de865e66699", gzip: include_bytes!("session_page.js.gz"), plain: OnceLock::new() },
    File { name: "index.html", hash: "c84784d8cd3a3111", gzip: include_bytes!("index.html.gz"), plain: OnceLock::new() },
]
